"""Run a command whose listening sockets stay on loopback.

    python -m zuul_nodes.quickstart.loopback zuul-executor -f -c zuul.conf

The quickstart promises that nothing of it can be reached from another
machine.  The address of nearly every service can be configured, but not
that of the executor's log streamer, which listens on ``::``.  So in this
one process "any address" means loopback.  It is the standard library that
is substituted here; Zuul's code runs as it is.
"""

from importlib import metadata
import socket
import sys

from zuul_nodes import autoload

# The IPv4 loopback address as a socket of the IPv6 family writes it: it is
# there even where IPv6 is off.
MAPPED_LOOPBACK = '::ffff:127.0.0.1'


def guard():
    """From now on, wildcard addresses are bound on loopback."""
    bind = socket.socket.bind

    def bindLoopback(self, address):
        if self.family == socket.AF_INET and address[0] in ('', '0.0.0.0'):
            address = ('127.0.0.1', *address[1:])
        elif self.family == socket.AF_INET6 and address[0] in ('', '::'):
            self.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            address = (MAPPED_LOOPBACK, *address[1:])
        return bind(self, address)

    socket.socket.bind = bindLoopback


def main():
    """Run the console script that the arguments name."""
    sys.argv = sys.argv[1:]
    # Python's start-up file saw the name of this module, not the script's.
    autoload.main()
    script, = metadata.entry_points(
        group='console_scripts', name=sys.argv[0])
    guard()
    return script.load()()


if __name__ == '__main__':
    sys.exit(main())
