"""Parts of a file on a web server, and the server's statements about them.

The statements are hints: many servers omit the size, do not support ranges, or
send less or more than was requested.  So each part states the position of its
bytes, how its end is recognized, and the version of the file.

RFC 9110, 13.1.5 (If-Range), 14 (ranges) and 15.3.7 (partial content).
"""

import re

import requests
import urllib3

from zuul_nodes.imagefiles import ArtifactError

# Ranges and sizes must refer to the file, not to a compressed form of it.
HEADERS = {'Accept-Encoding': 'identity'}
CONTENT_RANGE = re.compile(
    r'\s*bytes\s+(?:(\d+)\s*-\s*(\d+)|\*)\s*/\s*(\d+|\*)\s*', re.IGNORECASE)


class PartError(ArtifactError):
    """A part does not fit the other parts of a file."""


class Version:
    """The attributes of a response that distinguish versions of a file.

    :param response: of the server.
    :param size: of the file in bytes, None if the server does not send it.
    """

    def __init__(self, response, size):
        self.size = size
        self.tag = response.headers.get('etag')
        self.modified = response.headers.get('last-modified')

    @property
    def is_known(self):
        """Whether a change of the version would be noticed."""
        return bool(self.tag or self.modified)

    @property
    def condition(self):
        """The header that requests the whole file if its version differs."""
        # The header must not contain a weak tag, and times lack precision.
        strong = self.tag and not self.tag.startswith('W/')
        return {'If-Range': self.tag} if strong else {}

    def isLike(self, other):
        """:return: whether no attribute differs from that of another."""
        return all(
            one is None or another is None or one == another
            for one, another in ((self.size, other.size),
                                 (self.tag, other.tag),
                                 (self.modified, other.modified)))


class Part:
    """The response to a request for a part; use it in a "with" statement.

    :param Source source: of the file.
    :param int begin: position of the first requested byte.
    :param end: position after the last one; None for the whole file.
    :param Version version: the expected version, or None.
    :ivar int start: position of the first byte in the response.
    :ivar end: position after the last byte, or None, which means that the
        response continues to the end of the file.
    :ivar bool is_whole: whether the response contains the whole file.
    :ivar Version version: of the file.
    :ivar bool is_bounded: whether a broken connection can be distinguished
        from the end.
    :ivar bool is_nothing: whether the file has no bytes from ``begin`` on.
    :raises requests.RequestException: the server reports an error.
    :raises PartError: the response is contradictory or incomplete.
    """

    def __init__(self, source, begin, end, version):
        headers = dict(HEADERS)
        if end is not None:
            headers['Range'] = f'bytes={begin}-{end - 1}'
            if version:
                headers |= version.condition
        self._response = source.send('GET', headers)
        try:
            self._read(begin)
        except BaseException:
            self._response.close()
            raise

    def _read(self, begin):
        response = self._response
        chunked = 'chunked' in response.headers.get(
            'transfer-encoding', '').lower()
        # With chunks, the length is meaningless.
        length = None if chunked else _getLength(response)
        self.is_nothing = False
        found = CONTENT_RANGE.fullmatch(
            response.headers.get('content-range', ''))
        first, last, size = found.groups() if found else (None, None, None)
        size = int(size) if size not in (None, '*') else None
        unsatisfiable = requests.codes.requested_range_not_satisfiable
        if response.status_code == unsatisfiable and begin:
            self.start, self.end, self.is_nothing = begin, begin, True
            if size not in (None, begin):
                raise PartError(
                    f'the server has nothing from byte {begin} on, although '
                    f'the file has {size} bytes')
        elif response.status_code == unsatisfiable:
            raise PartError('the server does not send parts of it')
        elif response.status_code == requests.codes.partial_content:
            if first is None:
                raise PartError(
                    'the server does not state which part it sends')
            self.start, self.end = int(first), int(last) + 1
            if size is not None:
                self.end = min(self.end, size)
            self.is_nothing = (
                self.end <= self.start == begin and length == 0)
        else:
            response.raise_for_status()
            if response.status_code != requests.codes.ok:
                # The content describes the file at most.
                raise requests.HTTPError(
                    f'{response.status_code} {response.reason}: the response '
                    f'is not a file, for url: {response.url}',
                    response=response)
            self.start, self.end, size = 0, length, length
        self.is_bounded = chunked or self.end is not None
        self.is_whole = self.start == 0 and self.end == size
        self.version = Version(response, size)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self._response.close()

    def readBlocks(self, size):
        """Read the content in blocks.

        It yields small blocks rather than wait for more, so that the caller
        can check often whether to go on.

        :param int size: maximum size of a block.
        :return: yields the blocks.
        :raises requests.ConnectionError: the connection was interrupted.
        """
        raw = self._response.raw
        try:
            while block := raw.read1(size, decode_content=False):
                yield block
        except urllib3.exceptions.HTTPError as error:
            raise requests.ConnectionError(error) from error


def _getLength(response):
    text = response.headers.get('content-length', '').strip()
    return int(text) if text.isascii() and text.isdecimal() else None
