"""What people write as ``host-key``."""

import base64

import pytest

from tests.fixtures.hostkeys import HostKey
from zuul_nodes.drivers.static.hostkeys import (
    parseHostKey,
    readHostKey,
    splitHostKeys,
)

TYPES = {'ed25519': 'ssh-ed25519', 'ecdsa': 'ecdsa-sha2-nistp256',
         'rsa': 'ssh-rsa'}


@pytest.fixture(scope='module', params=TYPES)
def host_key(request, tmp_path_factory):
    return HostKey(tmp_path_factory.mktemp('keys') / 'key', request.param)


@pytest.mark.parametrize('form', [
    '{key}',
    '192.0.2.1 {key}',
    'node.example.com,192.0.2.1 {key}',
    '[node.example.com]:2222 {key} root@node',
    '|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg= {key}',
    '  {key} ssh-ed25519 is not its comment\t',
])
def test_forms(host_key, form):
    line = form.format(key=host_key.recorded)
    assert parseHostKey(line) == host_key.recorded
    assert host_key.recorded.split()[0] in TYPES.values()


def test_file_of_openssh(host_key):
    assert parseHostKey(host_key.line) == host_key.recorded


@pytest.mark.parametrize('damage', [
    lambda kind, key: '...',
    lambda kind, key: '',
    lambda kind, key: key,
    lambda kind, key: kind,
    lambda kind, key: f'ssh-dss {key}',
    lambda kind, key: f'{kind} {key[:-8]}',
    lambda kind, key: f'{kind} {key[:40]}',
    lambda kind, key: f'{kind} {key[:24]}!{key[24:]}',
    lambda kind, key: f'{kind} {key[:20]} {key[20:]}',
    lambda kind, key: f'@cert-authority * {kind} {key}',
    lambda kind, key: f'{kind} ' + base64.b64encode(
        base64.b64decode(key) + b'\0').decode(),
    lambda kind, key: 'SHA256:bm90IGEga2V5',
])
def test_malformed(host_key, damage):
    line = damage(*host_key.recorded.split())
    with pytest.raises(ValueError, match=r'no complete host key|not a key of'):
        parseHostKey(line)
    assert readHostKey(line) == line


def test_secrets_are_not_told(host_key):
    private = host_key.path.read_text()
    for line in splitHostKeys(private):
        with pytest.raises(ValueError) as error:
            parseHostKey(line)
        assert line not in str(error.value)


def test_several():
    assert splitHostKeys(None) == []
    assert splitHostKeys('') == []
    assert splitHostKeys('a b\n') == ['a b']
    assert splitHostKeys(['a b', '# host:22 SSH-2.0\n\nhost c d\n']) == [
        'a b', 'host c d']
