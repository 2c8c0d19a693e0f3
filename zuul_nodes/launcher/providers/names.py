"""Addresses of machines that are there already, by their names.

A machine is the same one by each of its names and addresses.  So the launcher
looks up the names of nodes again and again, and the planner goes by what was
found last: it never waits for a name server, and what a name server in trouble
says changes nothing.  Until a name has been looked up, what the records of its
nodes say of it is all that is known.
"""

import logging


class Names:
    """
    :param Lookups lookups: finds the addresses of hosts.
    :param Planner planner: is told of them.
    :param WorkQueue queue: gets the keys of names.
    :param float interval: seconds after which a name is looked up again.
    """

    log = logging.getLogger('zuul.nodes.providers')

    def __init__(self, lookups, planner, queue, interval=60.0):
        self.lookups = lookups
        self.planner = planner
        self.queue = queue
        self.interval = interval
        # Host -> its look-up.
        self._running = {}

    def reconcile(self, host):
        """Look up the name of a node, or take in what was found.

        :param str host: as the planner has told it.
        """
        key = ('name', host)
        lookup = self._running.get(host)
        if lookup is None:
            if self.planner.hasHost(host):
                lookup = self._running[host] = self.lookups.find(host)
                lookup.add_done_callback(lambda _: self.queue.add(key))
            return
        if not lookup.done():
            # Its end comes back to it.
            return
        del self._running[host]
        try:
            found = {address for _, (address, *_) in lookup.result()}
        except (OSError, UnicodeError) as error:
            self.log.debug('Unable to look up %s: %s', host, error)
        else:
            self.planner.setAddresses(host, found)
        self.queue.addAfter(key, self.interval)
