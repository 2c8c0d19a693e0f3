"""TCP ports on loopback."""

import itertools
import random
import socket

from zuul_nodes.exceptions import UserError

LOOPBACK = '127.0.0.1'

# Below the range from which Linux takes the ports of outgoing connections
# (32768 and up by default): a port found free here stays free until the
# service that it is for has opened it.
FREE_PORTS = range(20000, 30000)


def isFree(port):
    """:return: whether a service could listen on this port of loopback."""
    with socket.socket() as probe:
        # As the services themselves do: connections of an earlier run that
        # are still in TIME_WAIT are no obstacle, a listener is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def freePorts(count):
    """:return: the numbers of this many different free ports, a list."""
    shuffled = random.sample(FREE_PORTS, len(FREE_PORTS))
    found = list(itertools.islice(filter(isFree, shuffled), count))
    if len(found) < count:
        raise UserError(
            f'no free port from {FREE_PORTS.start} to {FREE_PORTS.stop - 1} '
            f'on {LOOPBACK}: stop some of the services that listen there')
    return found


def freePort(preferred=None):
    """:param preferred: take this one if it is free.
    :return: the number of a free port."""
    if preferred is not None and isFree(preferred):
        return preferred
    return freePorts(1)[0]
