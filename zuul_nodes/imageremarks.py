"""What launchers have to say of images, for people.

Zuul's records say what state an upload has, but not why.  That is in records
of our own, one for each thing that there is something to say of: an upload,
by its id; an image, by its canonical name.  The last one counts.
"""

import contextlib
import urllib.parse

from kazoo.exceptions import NoNodeError

ROOT = '/zuul/zuul-nodes/image-remarks'


class Remarks:
    """
    :param KazooClient client:
    """

    def __init__(self, client):
        self.client = client

    def set(self, key, text):
        """
        :param str key: the id of an upload, or the canonical name of an
            image.
        :param str text: one line, which tenants may read.
        """
        data = text.encode()
        try:
            self.client.set(getPath(key), data)
        except NoNodeError:
            self.client.create(getPath(key), data, makepath=True)

    def add(self, transaction, key, text):
        """Write a remark of something new.

        :param Transaction transaction: of the launcher, that writes it.
        """
        self.client.ensure_path(ROOT)
        transaction.write(getPath(key), text.encode())

    def forget(self, key):
        """There is nothing to say any more."""
        with contextlib.suppress(NoNodeError):
            self.client.delete(getPath(key))

    def getKeys(self):
        """:return: a set of the keys of all remarks."""
        try:
            names = self.client.get_children(ROOT)
        except NoNodeError:
            return set()
        return {urllib.parse.unquote_plus(name) for name in names}

    def get(self, key):
        """:return: what there is to say, or None."""
        try:
            data, _ = self.client.get(getPath(key))
        except NoNodeError:
            return None
        return data.decode()


def getPath(key):
    return f'{ROOT}/{urllib.parse.quote_plus(key)}'
