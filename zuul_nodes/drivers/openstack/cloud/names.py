"""What OpenStack's services take for names, metadata and properties.

Nova: https://docs.openstack.org/api-ref/compute/#create-server ("metadata":
keys and values of 255 characters; keys of letters, digits and "-_:. ").
Cinder: https://docs.openstack.org/api-ref/block-storage/v3/#create-a-volume
Glance: https://docs.openstack.org/api-ref/image/v2/#create-image (names and
keys of 255 characters).  Its databases need not have room for characters of
four bytes, and Glance refuses them.
"""

import hashlib
import re

LONGEST = 255
FORBIDDEN = re.compile('[^\t\n\r -\ud7ff\ue000-\uffff]')
FORBIDDEN_IN_KEYS = re.compile(r'[^a-zA-Z0-9\-_:. ]')
# Characters of a digest; 80 bits.
DIGEST = 20
# As many characters stay at the end of a name: that of an image ends with the
# uuid of its upload, by which it is known as ours.
TAIL = 33


def fitName(name):
    """
    :param str name: that an image of ours is to have.
    :return: the name, if Glance takes it; or one that is always the same for
        this name, and another one for each other.
    """
    return _fit(name, FORBIDDEN, TAIL)


def fitMetadata(tags):
    """
    :param dict tags: that a server, a volume or a snapshot is to have.
    :return: the same as Nova and Cinder take them: each key and each value
        by the rule for names.
    """
    return _fitAll(tags, FORBIDDEN_IN_KEYS, LONGEST)


def fitProperties(tags):
    """
    :param dict tags: that an image is to have.
    :return: the same as Glance takes them, likewise; values are of any
        length.
    """
    return _fitAll(tags, FORBIDDEN, None)


def _fitAll(tags, forbidden, longest):
    return {_fit(key, forbidden, may_be_empty=False):
            _fit(str(value), FORBIDDEN, longest=longest)
            for key, value in tags.items()}


def _fit(text, forbidden, tail=0, longest=LONGEST, may_be_empty=True):
    """
    :param int tail: characters that stay at the end.
    :param int longest: characters; None for any number.
    """
    kept = forbidden.sub('_', text)
    if kept == text and (text or may_be_empty) and (
            longest is None or len(text) <= longest):
        return text
    digest = hashlib.sha256(
        text.encode(errors='surrogatepass')).hexdigest()[:DIGEST]
    start, end = kept[:len(kept) - tail], kept[len(kept) - tail:]
    if len(kept) <= tail:
        start, end = kept, ''
    most = longest and longest - DIGEST - len(end) - 1
    return f'{start[:most]}-{digest}{end}'
