"""Remarks of launchers about uploads of images, for people.

Zuul's records contain the state of an upload, but not the reason.  The reason
is in a separate record, by the id of the upload; the last remark counts.
"""

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/image-remarks'


class Remarks:
    """
    :param KazooClient client:
    """

    def __init__(self, client):
        self.client = client

    def setRemark(self, key, text):
        """Write the remark about an upload.

        :param str key: the id of the upload.
        :param str text: one line, which tenants may read.
        """
        zkrecords.write(self.client, _getPath(key), text.encode())

    def addRemark(self, transaction, key, text):
        """Write the remark about a new upload, in a transaction.

        :param Transaction transaction: of the launcher.
        """
        self.client.ensure_path(ROOT)
        transaction.write(_getPath(key), text.encode())

    def deleteRemark(self, key):
        """Delete the remark about an upload."""
        zkrecords.delete(self.client, _getPath(key))

    def getKeys(self):
        """:return: a set of the ids of all uploads with a remark."""
        return zkrecords.getNames(self.client, ROOT)

    def getRemark(self, key):
        """:return: the remark about an upload, or None."""
        data = zkrecords.read(self.client, _getPath(key))
        return None if data is None else data.decode()


def _getPath(key):
    return zkrecords.getPath(ROOT, key)
