"""Metadata and network tags of instances.

Source: https://cloud.google.com/compute/docs/metadata/setting-custom-metadata
"""

import re

from tests.emulators.gce.core import NAME, makeInvalid
from tests.emulators.gce.labels import makeFingerprint

# Bytes, of one item, and of all of them.
METADATA_LIMIT = 256 * 1024
METADATA_TOTAL = 512 * 1024
METADATA_KEY = '[a-zA-Z0-9-_]{1,128}'
TAGS_LIMIT = 64


def makeMetadata(given):
    items = given.get('items', ())
    for i, item in enumerate(items):
        field = f'resource.metadata.items[{i}]'
        if not re.fullmatch(METADATA_KEY, item['key']):
            raise makeInvalid(f'{field}.key', item['key'],
                              f"Must be a match of regex '{METADATA_KEY}'")
        if len(item.get('value', '').encode()) > METADATA_LIMIT:
            raise makeInvalid(
                f'{field}.value', '',
                f'The value is longer than {METADATA_LIMIT} bytes.')
    if len({item['key'] for item in items}) < len(items):
        raise makeInvalid('resource.metadata', '', 'Metadata has duplicate '
                                                   'keys.')
    if sum(len((item['key'] + item.get('value', '')).encode())
           for item in items) > METADATA_TOTAL:
        raise makeInvalid('resource.metadata', '', 'The total is larger than '
                                                   f'{METADATA_TOTAL} bytes.')
    return {'kind': 'compute#metadata', **given,
            'fingerprint': makeFingerprint(given)}


def makeTags(given):
    if len(given.get('items', ())) > TAGS_LIMIT:
        raise makeInvalid('resource.tags', '', 'There are more than '
                                               f'{TAGS_LIMIT} tags.')
    for i, tag in enumerate(given.get('items', ())):
        if not re.fullmatch(NAME, tag):
            raise makeInvalid(f'resource.tags.items[{i}]', tag,
                              f"Must be a match of regex '{NAME}'")
    return {**given, 'fingerprint': makeFingerprint(given)}
