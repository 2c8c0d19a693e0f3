"""Writes the records of why requests wait."""

import logging

from zuul_nodes import waits, zkrecords
from zuul_nodes.launcher.zookeeper import Conflict


class WaitRecords:
    """Writes the records of why requests wait.

    :param Session session: writes them.
    :param Election election: knows whether this launcher plans.
    """

    log = logging.getLogger('zuul.nodes.requests')

    def __init__(self, session, election):
        self.session = session
        self.election = election
        self._term = None
        # Path -> what this launcher has written there, since it plans.
        self._known = {}

    def write(self, found):
        """Write what has changed, if this launcher plans.

        :param dict found: the name of a tenant -> its lines, as of
            :meth:`.Planner.getWaits`.
        """
        try:
            term = self.election.getTerm()
            if term != self._term:
                self._begin(term)
            records = dict.fromkeys(self._known, waits.makeRecord([])) | {
                waits.getPath(tenant_name): waits.makeRecord(lines)
                for tenant_name, lines in found.items()}
            for path, data in records.items():
                if self._known.get(path) != data:
                    self._write(path, data)
        except Conflict as conflict:
            self._term = None
            self.log.debug('Not recording why requests wait: %s', conflict)

    def _begin(self, term):
        client = self.session.client
        client.ensure_path(waits.ROOT)
        # Other launchers have written these.
        self._known = dict.fromkeys(map(
            waits.getPath, zkrecords.getNames(client, waits.ROOT)))
        self._term = term

    def _write(self, path, data):
        transaction = self.session.transaction()
        transaction.require(self._term)
        transaction.write(path, data, -1 if path in self._known else None)
        transaction.commit()
        self._known[path] = data
