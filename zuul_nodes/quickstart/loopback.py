"""Run a command whose listening sockets stay on loopback.

    python -m zuul_nodes.quickstart.loopback zuul-executor -f -c zuul.conf

The quickstart promises that no other machine can reach it.  Nearly every
service has an option for its address.  The executor's log streamer has none
and listens on ``::``.  In this process, the wildcard address therefore means
loopback.  The module replaces a method of the standard library; Zuul's code
is unmodified.
"""

from importlib import metadata
import socket
import sys

from zuul_nodes import autoload

# The IPv4 loopback address in the IPv6 family, which exists even where IPv6
# is disabled.
MAPPED_LOOPBACK = '::ffff:127.0.0.1'


def guard():
    """Bind wildcard addresses to loopback from now on."""
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
