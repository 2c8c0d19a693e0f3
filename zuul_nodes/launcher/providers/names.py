"""Looks up the names of static nodes.

A machine is the same by each of its names and addresses.  So the launcher
looks up the names of static nodes regularly, and the planner uses the last
result: it never waits for a name server, and an error of a name server changes
nothing.  Until the first look-up of a name, only the addresses in the records
are known.
"""

import logging


class Names:
    """Looks up the names of static nodes regularly.

    :param Lookups lookups: finds the addresses of hosts.
    :param Planner planner: receives the addresses.
    :param WorkQueue queue: the work queue, in which each name has a key.
    :param float interval: seconds between two look-ups of a name.
    :ivar dict running: host -> its look-up.
    """

    log = logging.getLogger('zuul.nodes.providers')

    def __init__(self, lookups, planner, queue, interval=60.0):
        self.lookups = lookups
        self.planner = planner
        self.queue = queue
        self.interval = interval
        self.running = {}

    def reconcile(self, host):
        """Start the look-up of a name, or process its result.

        :param str host: the name, as the planner has reported it.
        """
        key = ('name', host)
        lookup = self.running.get(host)
        if lookup is None:
            if self.planner.hasHost(host):
                lookup = self.running[host] = self.lookups.find(host)
                lookup.add_done_callback(lambda _: self.queue.add(key))
            return
        if not lookup.done():
            # The end of the look-up queues the name again.
            return
        del self.running[host]
        try:
            found = {address for _, (address, *_) in lookup.result()}
        except (OSError, UnicodeError) as error:
            self.log.debug('Unable to look up %s: %s', host, error)
        else:
            self.planner.setAddresses(host, found)
        self.queue.addAfter(key, self.interval)
