"""Bounds of attributes for which Zuul's driver accepts any integer."""

import voluptuous as vs
from zuul.lib.voluputil import Nullable

# Bounds over all types of disks: GiB, IOPS and MiB/s.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_EbsBlockDevice.html
VOLUME = {
    'volume-size': (1, 65536),
    'iops': (100, 256000),
    'throughput': (125, 2000),
}


def makeWhole(least, most=None):
    """
    :param int least:
    :param int most: None if there is no upper bound.
    :return: a validator for whole numbers within bounds.
    """
    return vs.All(int, vs.Range(
        min=least, max=most, msg='expected a whole number ' + (
            f'of at least {least}' if most is None
            else f'from {least} to {most}')))


def bound(schema):
    """
    :param Schema schema: of Zuul's, with attributes of disks.
    :return: a dictionary, numeric attribute -> its schema.
    """
    return {key: Nullable(makeWhole(*VOLUME[key.schema]))
            for key in schema.schema if key.schema in VOLUME}
