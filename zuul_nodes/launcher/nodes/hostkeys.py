"""Compares the host keys that a machine shows with the expected ones.

A driver may know the host keys of an instance before any connection: from the
configuration, or from a cloud's console or metadata.  The driver sets the
attribute ``host_keys`` of its instances, which is copied into the node's
record.  The launcher compares the keys that a scan finds with them.  The
record keeps the keys that were both expected and found, so that the executor
trusts no others.

All state is in the record and in the configuration, so any launcher can
continue with a node.
"""

import base64
import binascii
import hashlib

from zuul.exceptions import LaunchKeyscanException

from zuul_nodes.launcher.nodes.hostkeyscan import needsScan
from zuul_nodes.launcher.zookeeper import setAttributes

NO_KEY = ('unknown', '')


class HostKeys:
    """Reads and checks the host keys of nodes.

    :param HostKeyScanner scanner: connects to the machines.
    :param Layouts layouts: hold the providers of the nodes.
    :param LivenessCheck liveness_check: notes which machines have answered.
    """

    def __init__(self, scanner, layouts, liveness_check):
        self.scanner = scanner
        self.layouts = layouts
        self.liveness_check = liveness_check

    def get(self, node, log):
        """Start the scan of a node, or take its result.

        :return: the host keys of the node; empty if it shows none; None while
            the scan is running.
        :raises LaunchKeyscanException: the node shows none of the expected
            keys.
        """
        if not needsScan(node):
            return list(node.host_keys)
        if node.nodescan_request is None:
            scan = self.scanner.add(('node', node.uuid), node, log)
            setAttributes(node, nodescan_request=scan)
        scan = node.nodescan_request
        if not scan.complete:
            return None
        provider = self.layouts.scope.getProviderFor(node)
        keys = checkHostKeys(node, scan, getExpectedHostKeys(node, provider))
        self.liveness_check.noteAnswer(node)
        return keys


def getExpectedHostKeys(node, provider):
    """:param ProviderNode node: a node that has not been scanned since it was
        created or used.
    :param BaseProvider provider: of the node.
    :return: a list of the host keys that the node is expected to show.
    """
    if node.state in node.CREATE_STATES:
        # From the instance.
        return node.host_keys
    # The node will be reused.  Of static nodes, only the configured keys
    # count: without one, the machine may change its keys.
    uuid = node.main_node_id or node.uuid
    if uuid in provider.nodes:
        return getattr(provider.nodes[uuid], 'host_keys', [])
    return node.host_keys


def checkHostKeys(node, scan, expected):
    """Compare the host keys that a machine shows with the expected ones.

    :param ProviderNode node: with the host keys that it has so far.
    :param Scan scan: a complete scan; None if none was needed.
    :param list expected: from :func:`getExpectedHostKeys`.
    :return: a list of the host keys for the node's record.
    :raises LaunchKeyscanException: the scan could not reach the machine, or
        the machine shows no expected key.  The error is logged, too.
    """
    if scan is None:
        return node.host_keys
    try:
        found = scan.result()
        if not (scan.host_key_checking and scan.gather_hostkeys):
            return node.host_keys
        if not expected:
            return found or node.host_keys
        return selectHostKeys(expected, found)
    except Exception as error:
        scan.log.error(
            'Not using node %s at %s port %s of provider %s: %s',
            node.uuid, node.interface_ip, node.connection_port,
            node.provider, error)
        if isinstance(error, LaunchKeyscanException):
            raise
        raise LaunchKeyscanException(
            f'Unable to scan the host keys of {node}: {error}') from error


def selectHostKeys(expected, found):
    """Select those of the found host keys that are expected.

    :param list expected: host keys, strings such as ``ssh-ed25519
        AAAAC3Nz...``, optionally with a host before the key and a comment
        after it.
    :param list found: the keys that the machine shows, as Zuul scans them.
    :return: a list of the found keys that are expected; at least one.
    :raises LaunchKeyscanException: none of the found keys is expected.
    """
    expected_keys = {_split(key) for key in expected} - {NO_KEY}
    # The scan asks for each algorithm of a key type and so finds a key several
    # times.
    selected = list(dict.fromkeys(
        ' '.join(_split(key)) for key in found
        if _split(key) in expected_keys))
    if not selected:
        raise LaunchKeyscanException(
            f'expected the host key {_describe(expected)}; '
            f'found {_describe(found)}')
    return selected


def getFingerprint(key):
    """:return: the type and the fingerprint of a host key; the fingerprint as
        ``ssh-keygen -l`` prints it."""
    key_type, encoded = _split(key)
    try:
        data = base64.b64decode(encoded)
    except binascii.Error:
        data = b''
    if not data:
        return f'{key_type} (no valid key)'
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return f'{key_type} SHA256:{digest.rstrip("=")}'


def _describe(keys):
    return ', '.join(dict.fromkeys(map(getFingerprint, keys))) or 'none'


def _split(key):
    """:return: (type, base64 data) of a host key."""
    words = key.split()
    for index, word in enumerate(words[1:], 1):
        # The data begins with the length of the type, of which the first three
        # bytes are zero.
        if word.startswith('AAAA'):
            return words[index - 1], word
    return NO_KEY
