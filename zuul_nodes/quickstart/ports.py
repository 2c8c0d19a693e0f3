"""TCP ports on loopback."""

import itertools
import random
import socket

from zuul_nodes.exceptions import UserError

LOOPBACK = '127.0.0.1'

# Below the range of ports that Linux assigns to outgoing connections (32768
# and up by default), so a free port stays free until its service listens.
FREE_PORTS = range(20000, 30000)
# Not the module's functions: programs with the same seed would choose the
# same ports.
_random = random.SystemRandom()

# Port -> the socket that reserves it until its service listens, as long as
# this process lives.
_claims = {}


def isFree(port):
    """:return: whether a service could listen on this port of loopback."""
    with socket.socket() as probe:
        # Services set this option too.  It ignores connections of an earlier
        # run in TIME_WAIT, but not listeners.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _claim(port):
    """Reserve a port, so that no other call in any process chooses it.

    :return: whether it was not reserved already.
    """
    # An abstract socket name, which Linux releases when the process ends.
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f'\0zuul-nodes/port/{port}')
    except OSError:
        claim.close()
        return False
    _claims[port] = claim
    return True


def freePorts(count, among=FREE_PORTS):
    """
    :param range among: ports to choose from.
    :return: a list of different free ports.  No other call returns them, in
        this or any other process, while this process lives.
    """
    # From a random one on: to shuffle all of them takes ten milliseconds.
    first = _random.randrange(len(among))
    ports = (port for port in itertools.chain(among[first:], among[:first])
             if isFree(port) and _claim(port))
    found = list(itertools.islice(ports, count))
    if len(found) < count:
        raise UserError(
            f'no free port from {among.start} to {among.stop - 1} '
            f'on {LOOPBACK}: stop some of the services that listen there')
    return found


def freePort(preferred=None):
    """:param preferred: return this port if it is free.
    :return: a free port."""
    if preferred is not None and isFree(preferred) and _claim(preferred):
        return preferred
    return freePorts(1)[0]
