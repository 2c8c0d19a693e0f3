"""Make names, metadata and properties valid for OpenStack's services.

Nova: https://docs.openstack.org/api-ref/compute/#create-server ("metadata":
keys and values of 255 characters; keys of letters, digits and "-_:. ").
Cinder: https://docs.openstack.org/api-ref/block-storage/v3/#create-a-volume
Glance: https://docs.openstack.org/api-ref/image/v2/#create-image (names and
keys of 255 characters).  Its databases may not support characters of four
bytes, and Glance refuses them.
"""

import hashlib
import re

LONGEST = 255
FORBIDDEN = re.compile('[^\t\n\r -\ud7ff\ue000-\uffff]')
FORBIDDEN_IN_KEYS = re.compile(r'[^a-zA-Z0-9\-_:. ]')
# Characters of a digest; 80 bits.
DIGEST = 20
# Characters that are kept at the end of a name: the name of an image ends with
# the uuid of its upload, which identifies it as ours.
TAIL = 33


def fitName(name):
    """
    :param str name: of an image of ours.
    :return: the name, if Glance accepts it; otherwise a valid name that is
        always the same for this name and differs from that of other names.
    """
    return _fit(name, FORBIDDEN, TAIL)


def fitMetadata(tags):
    """
    :param dict tags: of a server, a volume or a snapshot.
    :return: the tags as Nova and Cinder accept them: keys and values are
        changed as :func:`fitName` changes names.
    """
    return _fitAll(tags, FORBIDDEN_IN_KEYS, LONGEST)


def fitProperties(tags):
    """
    :param dict tags: of an image.
    :return: the tags as Glance accepts them, changed in the same way; values
        may have any length.
    """
    return _fitAll(tags, FORBIDDEN, None)


def _fitAll(tags, forbidden, longest):
    return {_fit(key, forbidden, may_be_empty=False):
            _fit(str(value), FORBIDDEN, longest=longest)
            for key, value in tags.items()}


def _fit(text, forbidden, tail=0, longest=LONGEST, may_be_empty=True):
    """
    :param int tail: number of characters to keep at the end.
    :param int longest: maximum number of characters; None for no limit.
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
