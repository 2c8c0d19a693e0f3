"""Argument types for argparse, which shows their names in messages."""

import argparse

# Unit of a duration -> seconds.
UNITS = {'s': 1, 'm': 60, 'h': 3600, 'd': 86400}


def port(text):
    """:return: a port number."""
    number = int(text)
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(
            f'{text} is not a port number from 1 to 65535')
    return number


def seconds(text):
    """:return: a positive duration in seconds."""
    number = float(text)
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{text} is not a positive number of seconds')
    return number


def age(text):
    """:return: a duration in seconds; ``m``, ``h`` and ``d`` are units."""
    number = float(text.removesuffix(text[-1:])
                   if text[-1:] in UNITS else text)
    if not 0 <= number < float('inf'):
        raise argparse.ArgumentTypeError(f'{text} is not a time like 90, 15m, '
                                         '2h or 3d')
    return number * UNITS.get(text[-1:], 1)


def addOlderThan(parser, what):
    """
    :param parser: of an action that lists records.
    :param what: the older records, such as "requests".
    """
    parser.add_argument(
        '--older-than', type=age, metavar='TIME',
        help=f'only {what} for longer: seconds, or a number with the unit m, '
        'h or d')
