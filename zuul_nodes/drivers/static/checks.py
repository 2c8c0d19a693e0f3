"""Checks of the configuration of static nodes, before they are used."""

import base64
import contextlib
import functools
import hashlib
import socket

import paramiko

from zuul_nodes.drivers import Check, bounds
from zuul_nodes.drivers.static.node import normalizeNode

# Seconds that a machine has to accept a connection, and to present a host
# key.  This is short because the machine has booted already.
TIMEOUT = 10
# Type of a key -> the algorithms that sign with it, if their names differ
# (RFC 8332, section 3).
ALGORITHMS = {'ssh-rsa': ('rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa')}


def makeChecks(provider):
    """
    :param StaticProvider provider:
    :return: yields a Check for each node, and one for each address whose
        entries may be ignored; they connect when ``ask`` is called.
    """
    entries = [node for node in (
        normalizeNode(entry, provider.labels)
        for entry in provider.config['nodes']) if node]
    for name in dict.fromkeys(node['name'] for node in entries):
        nodes = [node for node in provider.nodes.values()
                 if node.name == name]
        written = sum(node['name'] == name for node in entries)
        yield Check('entries', name, f'provider {provider.name}',
                    functools.partial(_askEntries, written, len(nodes)),
                    question=provider.canonical_name)
        for node in nodes:
            # The launcher does not connect to other nodes either.
            if node.host_key_checking and node.connection_port:
                yield Check('machine', f'{name} port {node.connection_port}',
                            f'label {node.label}', functools.partial(
                                _askMachine, node, functools.partial(
                                    _connect, provider.connection, node)),
                            question=(node.connection_type,
                                      *node.host_keys))


def _askEntries(written, used):
    return '' if written == used else (
        f'{written} entries have this address, but only {used} of them can '
        'be used, because the others have the same port and user. Merge '
        'those into one entry with all of their labels')


def _askMachine(node, connect):
    """Check a machine as a launcher does before a node is used."""
    try:
        if node.connection_type not in ('ssh', 'network_cli'):
            connect().close()
            return ''
        return _askHostKey(node, connect)
    except bounds.BoundError as error:
        return f'Unable to connect: {error}'
    except OSError as error:
        return (f'Unable to connect to {node.name} on port '
                f'{node.connection_port}: {error or type(error).__name__}. '
                'Check that the machine is up, and that "host" and '
                '"connection-port" are right')


def _askHostKey(node, connect):
    """Check that the machine presents at least one of the node's host keys."""
    wanted = {each.split()[0] for each in node.host_keys} or {None}
    shown, errors = [], []
    for key_type in sorted(wanted, key=str):
        try:
            key = _readHostKey(connect, key_type)
        except (paramiko.SSHException, EOFError) as error:
            errors.append(str(error) or 'the machine closed the connection')
            continue
        shown.append(key)
        if not node.host_keys or _write(key) in node.host_keys:
            return ''
    if shown:
        keys = ', '.join(f'{key.get_name()} {_getFingerprint(key)}'
                         for key in shown)
        return (f'The machine presents other host keys than "host-key" lists: '
                f'{keys}. Check that it is the right machine')
    what = (f'a host key of the type {" or ".join(sorted(wanted))}'
            if node.host_keys else 'any host key')
    return f'The machine does not present {what}: {"; ".join(errors)}'


def _readHostKey(connect, key_type):
    """
    :param connect: connects to the machine.
    :param str key_type: of the host key, or None for any type.
    :return: the host key that the machine presents, a paramiko.PKey.
    :raises OSError: the machine does not accept a connection.
    :raises SSHException, EOFError: the machine presents no such key.
    """
    with (contextlib.closing(connect()) as connection,
          contextlib.closing(paramiko.Transport(connection)) as transport):
        transport.banner_timeout = transport.handshake_timeout = TIMEOUT
        if key_type:
            options = transport.get_security_options()
            options.key_types = [
                name for name in options.key_types
                if name in ALGORITHMS.get(key_type, (key_type,))]
            if not options.key_types:
                raise paramiko.SSHException('zuul-nodes does not support it')
        transport.start_client(timeout=TIMEOUT)
        return transport.get_remote_server_key()


def _connect(connection, node):
    """Connect to an address to which a launcher would connect."""
    found = dict.fromkeys(address for *_, (address, *_) in socket.getaddrinfo(
        node.name, node.connection_port, type=socket.SOCK_STREAM))
    errors = []
    for address in found:
        try:
            bounds.checkAddress(connection, node.name, address)
            return socket.create_connection(
                (address, node.connection_port), TIMEOUT)
        except (bounds.BoundError, OSError) as error:
            errors.append(error)
    # A bound is the problem only if all addresses are out of bounds.
    raise next((error for error in errors if isinstance(error, OSError)),
               errors[0])


def _write(key):
    return f'{key.get_name()} {key.get_base64()}'


def _getFingerprint(key):
    """:return: the fingerprint as ``ssh-keygen -l`` prints it."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest())
    return f'SHA256:{digest.decode().rstrip("=")}'
