"""Types of arguments, as argparse has them.  It names them in messages."""

import argparse


def port(text):
    """:return: the number of a port."""
    number = int(text)
    if not 0 < number < 65536:
        raise argparse.ArgumentTypeError(f'{text} is not from 1 to 65535')
    return number


def seconds(text):
    """:return: a time that passes."""
    number = float(text)
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(f'{text} is not a time')
    return number
