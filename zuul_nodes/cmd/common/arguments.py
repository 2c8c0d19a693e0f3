"""Argument types for argparse, which shows their names in messages."""

import argparse


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
