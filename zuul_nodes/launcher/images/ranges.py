"""Parts of a file on a web server, and what the server says of them.

What it says are hints: many servers leave the size out, know no ranges, or
send less or more than they were asked for.  So a part tells where its own
bytes belong and by what its end is seen, and of which version of the file
it is.

RFC 9110, 13.1.5 (If-Range), 14 (ranges) and 15.3.7 (partial content).
"""

import re

import requests
import urllib3

from zuul_nodes.imagefiles import ArtifactError

# It is the file's own bytes that ranges and sizes are about.
HEADERS = {'Accept-Encoding': 'identity'}
CONTENT_RANGE = re.compile(
    r'\s*bytes\s+(?:(\d+)\s*-\s*(\d+)|\*)\s*/\s*(\d+|\*)\s*', re.IGNORECASE)


class PartError(ArtifactError):
    """A part does not fit to the others, so they make no file."""


class Version:
    """What tells one version of a file from the next.

    :param response: of the server.
    :param size: of the file in bytes, None if it does not say.
    """

    def __init__(self, response, size):
        self.size = size
        self.tag = response.headers.get('etag')
        self.modified = response.headers.get('last-modified')

    @property
    def is_known(self):
        """Whether another version would have been noticed."""
        return bool(self.tag or self.modified)

    @property
    def condition(self):
        """The header that asks for no part of another version."""
        # A server must not compare weak ones, nor times that are too near.
        strong = self.tag and not self.tag.startswith('W/')
        return {'If-Range': self.tag} if strong else {}

    def isLike(self, other):
        """:return: whether nothing says that the other is another one."""
        return all(
            one is None or another is None or one == another
            for one, another in ((self.size, other.size),
                                 (self.tag, other.tag),
                                 (self.modified, other.modified)))


class Part:
    """What a server answers with; to be used in a "with" statement.

    :param Source source: of the file.
    :param int begin: the first byte that is wanted.
    :param end: behind the last one; None for the whole file.
    :param Version version: of which it is to be, or None.
    :ivar int start: of the first byte that comes.
    :ivar end: behind the last byte that comes, or None: then it is the end
        of the file.
    :ivar bool is_whole: whether it is all of the file.
    :ivar Version version:
    :ivar bool is_bounded: whether a connection that breaks can't be taken
        for the end.
    :ivar bool is_nothing: whether there is nothing from ``begin`` on.
    :raises requests.RequestException: the server does not give it.
    :raises PartError: it can't be told what it is.
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
        # Beside chunks, it means nothing.
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
                    f'from byte {begin} on there is nothing, though it has '
                    f'{size} bytes')
        elif response.status_code == unsatisfiable:
            raise PartError('the server does not give parts of it')
        elif response.status_code == requests.codes.partial_content:
            if first is None:
                raise PartError('the server does not say which part it sends')
            self.start, self.end = int(first), int(last) + 1
            if size is not None:
                self.end = min(self.end, size)
            self.is_nothing = (
                self.end <= self.start == begin and length == 0)
        else:
            response.raise_for_status()
            if response.status_code != requests.codes.ok:
                # What comes then is about the file, if anything.
                raise requests.HTTPError(
                    f'{response.status_code} {response.reason} is no file, '
                    f'for url: {response.url}', response=response)
            self.start, self.end, size = 0, length, length
        self.is_bounded = chunked or self.end is not None
        self.is_whole = self.start == 0 and self.end == size
        self.version = Version(response, size)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self._response.close()

    def readBlocks(self, size):
        """
        :param int size: of a block, at most.
        :return: yields what has come, be it little: who waits for more can
            not be asked whether to go on.
        :raises requests.ConnectionError: the connection has broken.
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
