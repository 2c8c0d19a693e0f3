"""Addresses with a user, a port or a scheme, which are attributes here."""

import pytest
import voluptuous as vs

from tests.fixtures.staticnodes import makeConfig, withoutInternal
from zuul_nodes.drivers.static import StaticDriver

USER = 'the user as "username: root"'
PORT = 'the port as "connection-port: 22"'
WRONG = [
    ('root@desk', ['desk', USER]),
    ('desk:22', ['desk', PORT]),
    ('root@desk.example.com:22', ['desk.example.com', USER, PORT]),
    ('192.0.2.1:22', ['192.0.2.1', PORT]),
    ('ssh://desk', ['desk']),
    ('SSH://root@desk:22/', ['desk', USER, PORT]),
    ('[2001:db8::1]', ['2001:db8::1']),
    ('root@[2001:db8::1]:22', ['2001:db8::1', USER, PORT]),
    ('root@2001:db8::1', ['2001:db8::1', USER]),
    ('[fe80::1%eth0]:22', ['fe80::1%eth0', PORT]),
    (' desk', ['desk']),
    ('desk\n', ['desk']),
    ('192.0.2.1/32', ['192.0.2.1']),
    # Neither a user nor a port.
    ('{{x}}@desk:port', ['desk']),
    ('desk:65536', ['desk']),
]


def explain(**entry):
    """:return: what is wrong with a node."""
    config = withoutInternal(makeConfig({'label': 'desk', **entry}))
    with pytest.raises(vs.Invalid) as error:
        StaticDriver().getProviderSchema()(config)
    assert "data['nodes'][0]" in str(error.value)
    return error.value.errors[0].error_message


@pytest.mark.parametrize('key', ['name', 'host'])
@pytest.mark.parametrize('text, right', WRONG)
def test_error_says_what_to_write_instead(key, text, right):
    address, *rest = right
    assert explain(**{key: text}) == (
        f'A node in "nodes" has the address "{text}", which is '
        'neither a host name nor an IP address. Write ' + ' and '.join(
            [f'the address as "{address}"', *rest]))


@pytest.mark.parametrize('text', ['desk chair', 'desk, chair', 'desk,chair'])
def test_several_machines_are_several_entries(text):
    assert explain(name=text).endswith(
        ' Write one entry for each machine, with one address each')


@pytest.mark.parametrize('text', [
    '-oProxyCommand=id', '{{ x }}', '*', '   ', 'root@', ':22', '[desk',
    '[]', 'ssh://'])
def test_what_has_no_address_in_it(text):
    assert explain(name=text).endswith(
        ' Write a host name or an IP address alone, such as '
        '"node.example.com"')


def test_error_does_not_repeat_a_password():
    said = explain(name='ssh://root:secret@desk')
    assert '"ssh://root:...@desk"' in said
    assert 'secret' not in said
    assert USER in said
