"""Host keys: what a machine shows must be what is known of it."""

import base64
import binascii
import hashlib

from zuul.exceptions import LaunchKeyscanException

NO_KEY = ('unknown', '')


class HostKeyCheck:
    """For a launcher: nodes whose host keys are known must show them.

    A driver may know the host keys of an instance before any connection:
    from the configuration, from a cloud's console or metadata.  It says
    so in the attribute ``host_keys`` of its instances, from which Zuul
    puts them into the node's record.  Zuul then replaces them by whatever
    the scan finds; here they are compared first.  The record keeps those
    that were expected and found, so the executor trusts no other.

    Nothing is kept outside of the record and the configuration: any
    launcher can go on with a node.
    """

    def _checkNodescanRequest(self, node, log):
        expected = self._getExpectedHostKeys(node)
        found_before = node.host_keys
        if not super()._checkNodescanRequest(node, log):
            return False
        request = node.nodescan_request
        scanned = request.host_key_checking and request.gather_hostkeys
        if not (expected and scanned):
            # Without a scan, the record has what is known already.
            return True
        try:
            node.host_keys = selectHostKeys(expected, request.result())
        except LaunchKeyscanException as error:
            # What was found must not become what is expected.
            node.host_keys = found_before
            log.error(
                'The node %s at %s port %s of the provider %s is not used: '
                '%s', node.uuid, node.interface_ip, node.connection_port,
                node.provider, error)
            raise
        return True

    def _getExpectedHostKeys(self, node):
        """
        :param ProviderNode node: whose scan is under way.
        :return: a list of the host keys that are known of it.
        """
        if node.state in node.CREATE_STATES:
            # The instance's.  No scan has been completed yet.
            return node.host_keys
        # It is to be used again.  For machines that the configuration
        # has, that counts: without a key there, they may change theirs.
        provider = self._getProviderForNode(node)
        uuid = node.main_node_id or node.uuid
        if uuid in provider.nodes:
            return getattr(provider.nodes[uuid], 'host_keys', [])
        return node.host_keys


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
