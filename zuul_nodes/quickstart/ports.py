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
# Not the module's functions: programs that seed them find the same ports.
_random = random.SystemRandom()

# By port, what keeps others from finding it before its service listens,
# as long as this process lives.
_claims = {}


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


def _claim(port):
    """Nobody who looks for ports finds this one after that, neither in this
    process nor in another one.

    :return: whether nobody had found it before.
    """
    # A name that Linux keeps beside those of files: it goes with the
    # process, however that ends.
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f'\0zuul-nodes/port/{port}')
    except OSError:
        claim.close()
        return False
    _claims[port] = claim
    return True


def freePorts(count):
    """:return: the numbers of this many different free ports, a list; no
    other call finds them, in this process or another, while this process
    lives."""
    ports = (port for port in _random.sample(FREE_PORTS, len(FREE_PORTS))
             if isFree(port) and _claim(port))
    found = list(itertools.islice(ports, count))
    if len(found) < count:
        raise UserError(
            f'no free port from {FREE_PORTS.start} to {FREE_PORTS.stop - 1} '
            f'on {LOOPBACK}: stop some of the services that listen there')
    return found


def freePort(preferred=None):
    """:param preferred: take this one if it is free.
    :return: the number of a free port."""
    if preferred is not None and isFree(preferred) and _claim(preferred):
        return preferred
    return freePorts(1)[0]
