"""Writes the records of which only the launcher that plans is the author."""

import logging

from zuul_nodes import zkrecords
from zuul_nodes.launcher.zookeeper.transaction import Conflict


class PlannerRecords:
    """Writes all records below a path, as long as this launcher plans.

    :param Session session: writes them.
    :param Election election: knows whether this launcher plans.
    :param str root: the path.  Names below it are those that
        :func:`.zkrecords.getPath` makes.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(self, session, election, root):
        self.session = session
        self.election = election
        self.root = root
        self._term = None
        # Path -> what this launcher has written there since it plans, or None
        # if another launcher has.
        self._known = {}

    def isMine(self):
        """:return: whether this launcher plans, and so writes them."""
        try:
            return bool(self.election.getTerm())
        except Conflict:
            return False

    def write(self, found):
        """Write what has changed, if this launcher plans.

        :param dict found: name -> content, bytes, of all records; records with
            other names are deleted.
        """
        records = {zkrecords.getPath(self.root, name): data
                   for name, data in found.items()}
        try:
            term = self.election.getTerm()
            if term != self._term:
                self._begin(term)
            for path in self._known.keys() | records:
                data = records.get(path)
                if data is None or self._known.get(path) != data:
                    self._write(path, data)
        except Conflict as conflict:
            self._term = None
            self.log.debug('Not writing below %s: %s', self.root, conflict)

    def _begin(self, term):
        client = self.session.client
        client.ensure_path(self.root)
        # Other launchers have written these.
        self._known = {
            f'{self.root}/{name}': None
            for name in zkrecords.getChildren(client, self.root)}
        self._term = term

    def _write(self, path, data):
        transaction = self.session.transaction()
        transaction.require(self._term)
        if data is None:
            transaction.deletePath(path)
        else:
            transaction.write(path, data, -1 if path in self._known else None)
        transaction.commit()
        if data is None:
            del self._known[path]
        else:
            self._known[path] = data
