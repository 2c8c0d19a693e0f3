"""Validators for the values of attributes.

They also check values that become parts of paths of the API.
"""

import re

import voluptuous as vs
from zuul.lib import voluputil

from zuul_nodes.drivers import Optional
from zuul_nodes.drivers.gce.names import NAME

# Minimum GB of a disk: 4 for hyperdisks, 10 for others.
SMALLEST_DISK = 4
LARGEST_DISK = 65536
MOST_GPUS = 16
MOST_TAGS = 64
# https://cloud.google.com/compute/docs/metadata/setting-custom-metadata#limitations
METADATA_KEY = re.compile(r'[A-Za-z0-9_-]{1,128}')
METADATA_SIZE = 256 * 1024


class Alternative(voluputil.Exclusive):
    """An attribute that excludes the others of its group; with ``Nullable``
    it is None if it is not set.

    :param str name: of the attribute.
    :param str group: of the attributes of which only one may be set.
    :param str message: the error if several are set.
    """

    def __init__(self, name, group, message, doc):
        attribute = Optional(name, doc=doc)
        super().__init__(attribute, group, message)
        self.output = attribute.output
        self.config = attribute.config
        self.default = attribute.default


def makeNumber(least, most):
    """:return: a schema for a whole number."""
    return vs.All(int, vs.Range(
        least, most, msg=f'expected a whole number from {least} to {most}'))


def makeText(pattern, what):
    """
    :param str pattern: of the whole text.
    :param str what: description of a valid text, for the message.
    """
    return vs.All(str, vs.Match(
        rf'(?:{pattern})\Z', f'expected {what}'))


def checkTags(tags):
    if len(tags) > MOST_TAGS:
        raise vs.Invalid(f'expected at most {MOST_TAGS} network tags')
    for tag in tags:
        if not NAME.fullmatch(tag):
            raise vs.Invalid(
                f'"{tag:.80}" is not a valid network tag: expected at most 63 '
                'lower-case letters, digits and hyphens, beginning with a '
                'letter')
    return tags


def checkMetadata(metadata):
    for key, value in metadata.items():
        if not METADATA_KEY.fullmatch(key):
            raise vs.Invalid(
                f'"{key:.80}" is not a valid key of metadata: expected at '
                'most 128 letters, digits, hyphens and underscores')
        if len(value.encode()) > METADATA_SIZE:
            raise vs.Invalid(f'the value of "{key}" has more than '
                             f'{METADATA_SIZE} bytes')
    return metadata


DISK_SIZE = makeNumber(SMALLEST_DISK, LARGEST_DISK)
GPU_COUNT = makeNumber(1, MOST_GPUS)
TYPE = makeText('[a-z0-9-]{1,63}',
                'a name of lower-case letters, digits and hyphens')
FEATURE = makeText('[A-Z0-9_]{1,63}', 'a feature such as GVNIC')
