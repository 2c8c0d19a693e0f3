"""Host keys: what a machine shows must be what is known of it.

A driver may know the host keys of an instance before any connection:
from the configuration, from a cloud's console or metadata.  It says so
in the attribute ``host_keys`` of its instances, from which they get into
the node's record.  What a scan finds is compared with them; the record
keeps those that were expected and found, so the executor trusts no other.

Nothing is kept outside of the record and the configuration: any launcher
can go on with a node.
"""

import base64
import binascii
import hashlib

from zuul.exceptions import LaunchKeyscanException

from zuul_nodes.launcher.nodes.hostkeyscan import needsScan
from zuul_nodes.launcher.zookeeper import setAttributes

NO_KEY = ('unknown', '')


class HostKeys:
    """
    :param HostKeyScanner scanner: connects to machines.
    :param Layouts layouts: with the providers of these.
    :param LivenessCheck liveness_check: is told which have answered.
    """

    def __init__(self, scanner, layouts, liveness_check):
        self.scanner = scanner
        self.layouts = layouts
        self.liveness_check = liveness_check

    def get(self, node, log):
        """
        :return: the host keys of a node, empty if it shows none; None while
            they are looked for.
        :raises LaunchKeyscanException: it does not show what it should.
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
    """
    :param ProviderNode node: whose host keys have not been scanned yet
        since it was made or used.
    :param BaseProvider provider: that of the node.
    :return: a list of the host keys that are known of it.
    """
    if node.state in node.CREATE_STATES:
        # The instance's.
        return node.host_keys
    # It is to be used again.  For machines that the configuration has,
    # that counts: without a key there, they may change theirs.
    uuid = node.main_node_id or node.uuid
    if uuid in provider.nodes:
        return getattr(provider.nodes[uuid], 'host_keys', [])
    return node.host_keys


def checkHostKeys(node, scan, expected):
    """Compare what a machine has shown with what is known of it.

    :param ProviderNode node: with the host keys that it has so far.
    :param Scan scan: one that is complete; None if none was needed.
    :param list expected: from :func:`getExpectedHostKeys`.
    :return: a list of the host keys for the node's record.
    :raises LaunchKeyscanException: the machine was not reached, or shows
        no key that is expected.  The log has it, too.
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
            'The node %s at %s port %s of the provider %s is not used: %s',
            node.uuid, node.interface_ip, node.connection_port,
            node.provider, error)
        if isinstance(error, LaunchKeyscanException):
            raise
        raise LaunchKeyscanException(
            f'Unable to scan the host keys of {node}: {error}') from error


def selectHostKeys(expected, found):
    """
    :param list expected: the host keys that are known of a machine,
        strings such as ``ssh-ed25519 AAAAC3Nz...``, perhaps with a host
        before that and a comment after it.
    :param list found: those that it shows, as Zuul scans them.
    :return: a list of those found that were expected, one at least.
    :raises LaunchKeyscanException: there is none.
    """
    expected_keys = {_split(key) for key in expected} - {NO_KEY}
    # The scan asks for the algorithms of one type of key one by one.
    selected = list(dict.fromkeys(
        ' '.join(_split(key)) for key in found
        if _split(key) in expected_keys))
    if not selected:
        raise LaunchKeyscanException(
            f'expected the host key {_describe(expected)}; '
            f'found {_describe(found)}')
    return selected


def getFingerprint(key):
    """:return: the type and the fingerprint of a host key, the latter as
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
        # The data begin with the length of the type: three zero bytes.
        if word.startswith('AAAA'):
            return words[index - 1], word
    return NO_KEY
