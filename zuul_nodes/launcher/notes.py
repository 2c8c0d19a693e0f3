"""Writes the audit log's lines about the commands of operators."""

from zuul_nodes import audit
from zuul_nodes.launcher.zookeeper import Conflict
from zuul_nodes.orders import Order

# Seconds until a launcher that does not plan looks at a note again.
RETRY = 30.0


class Notes:
    """Writes the audit log's lines about the commands of operators.

    :param Orders orders: of operators.
    :param Election election: the launcher that plans writes the lines.
    :param WorkQueue queue: the work queue, in which each note has a key.
    :param Session session: names this launcher.
    """

    def __init__(self, orders, election, queue, session):
        self.orders = orders
        self.election = election
        self.queue = queue
        self.session = session

    def reconcile(self, note_id):
        """Write the line of a note, if it still exists."""
        fields = self.orders.findNote(note_id)
        if fields is None:
            return
        try:
            self.election.getTerm()
        except Conflict:
            # That launcher may end before it has written the line.
            self.queue.addAfter(('note', note_id), RETRY)
            return
        audit.tell(
            audit.Event.ORDERED, action=fields.pop('action', None),
            user=fields.pop('user', None), launcher=self.session.identifier,
            **fields)
        self.orders.remove(Order.NOTE, note_id)
