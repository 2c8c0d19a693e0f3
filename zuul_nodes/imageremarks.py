"""What launchers have to say of images, for people.

Zuul's records say what state an upload has, but not why.  That is in records
of our own, one for each upload that there is something to say of, by its id.
The last one counts.
"""

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/image-remarks'


class Remarks:
    """
    :param KazooClient client:
    """

    def __init__(self, client):
        self.client = client

    def set(self, key, text):
        """
        :param str key: the id of an upload.
        :param str text: one line, which tenants may read.
        """
        zkrecords.write(self.client, _getPath(key), text.encode())

    def add(self, transaction, key, text):
        """Write a remark of something new.

        :param Transaction transaction: of the launcher, that writes it.
        """
        self.client.ensure_path(ROOT)
        transaction.write(_getPath(key), text.encode())

    def forget(self, key):
        """There is nothing to say any more."""
        zkrecords.delete(self.client, _getPath(key))

    def getKeys(self):
        """:return: a set of the keys of all remarks."""
        return zkrecords.getNames(self.client, ROOT)

    def get(self, key):
        """:return: what there is to say, or None."""
        data = zkrecords.read(self.client, _getPath(key))
        return None if data is None else data.decode()


def _getPath(key):
    return zkrecords.getPath(ROOT, key)
