"""What is said in zuul.conf and in git."""

import os
import pathlib
import pwd

import pytest

from tests.fixtures.layout import makeLayout
from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.local import LocalDriver
from zuul_nodes.drivers.local.users import Users

EXAMPLE = (pathlib.Path(__file__).parents[4]
           / 'doc/source/examples/local.yaml')
LAYOUT = '''
- image: {name: debian, type: cloud}
- image: {name: own, type: zuul}
- flavor: {name: any}
- label: {name: small, image: debian, flavor: any}
- section:
    name: house
    connection: local
    images:
      - name: debian
        image-path: /srv/debian.tar
        username: someone
      - own
    flavors: [any]
    label-defaults: {host-key-checking: true}
- provider:
    name: here
    section: house
    labels: [small]
    resource-limits: {instances: 3}
'''


def getConnection(**options):
    return LocalDriver().getConnection(
        'local', {'authorized_keys': 'ssh-ed25519 AAAA me'} | options)


def getAdapter(**options):
    return LocalDriver.adapter_class(getConnection(**options))


def getProvider(connection, config):
    driver = connection.driver
    return driver.getProvider(
        None, connection, 'tenant', 'example.com%2Fnodes/here', config,
        'system')


def load(text, connection_name='local'):
    """:return: the provider of a configuration, as a tenant writes it."""
    layout = makeLayout(text)
    connection = getConnection()
    provider_config, = layout.provider_configs.values()
    return getProvider(connection, provider_config.flattenConfig(
        layout, {connection_name: connection}))


def test_layout():
    provider = load(LAYOUT)
    image = provider.images['debian']
    assert (image.image_path, image.username, image.connection_type) == (
        '/srv/debian.tar', 'someone', 'ssh')
    assert provider.images['own'].username == 'zuul'
    assert provider.resource_limits == {'instances': 3}


@pytest.mark.parametrize(('old', 'new', 'wrong'), [
    ('image-path: /srv', 'image-id: /srv', 'image-id'),
    ('image-path: /srv/debian.tar', 'shell-type: sh', 'image-path')])
def test_wrong_attributes(old, new, wrong):
    with pytest.raises(Exception, match=f'"{wrong}"'):
        load(LAYOUT.replace(old, new))


def test_example_of_the_documentation():
    provider = load(EXAMPLE.read_text(), 'house')
    assert provider.images['debian'].image_path == (
        '/srv/images/debian.tar.zst')
    assert provider.resource_limits == {'instances': 4}


def test_limits():
    assert getAdapter(
        max_instances='7', max_cores='8', max_ram='9').getLimits() == {
            'instances': 7, 'cores': 8, 'ram': 9}
    assert getAdapter().getLimits() == {}


@pytest.mark.parametrize(('option', 'value', 'message'), [
    ('authorized_keys', '', '"authorized_keys": it is missing'),
    ('directory', 'here', 'here is not an absolute path'),
    ('import_directories', '/a, b', 'b is not an absolute path'),
    ('max_instances', 'many', '"max_instances": it must be a number'),
    ('network', 'nat', '"network": it must be "host" or "none"')])
def test_wrong_options(option, value, message):
    with pytest.raises(Exception, match=message) as info:
        getConnection(**{option: value})
    assert '[connection local]' in str(info.value)


def test_authorized_keys(tmp_path):
    assert getAdapter().getAuthorizedKeys() == 'ssh-ed25519 AAAA me'
    path = tmp_path / 'keys'
    adapter = getAdapter(authorized_keys=str(path))
    with pytest.raises(DriverError, match=r'connection "local".*keys'):
        adapter.getAuthorizedKeys()
    path.write_text('ssh-rsa AAAA\nssh-rsa BBBB\n')
    assert adapter.getAuthorizedKeys() == path.read_text()


def test_users_of_the_machine(monkeypatch):
    with pytest.raises(DriverError, match='no user "no-one"'):
        Users('no-one')
    nobody = pwd.getpwnam('nobody').pw_uid
    monkeypatch.setattr(os, 'geteuid', lambda: nobody)
    # The user that runs the launcher has all nodes and images.
    for users in (Users(), Users('nobody')):
        with users.claim() as user:
            assert (user.uid, users.keeper) == (None, user)
    with pytest.raises(DriverError, match='Only root can'):
        Users('root')


@pytest.mark.skipif(os.geteuid() != 0, reason='root alone has other users')
def test_a_user_that_the_operator_has_named(makeSite, options, directory):
    options['user'] = 'nobody'
    nobody = pwd.getpwnam('nobody').pw_uid
    site = makeSite()
    site.create(site.makeNode('1' * 32))
    assert {path.stat().st_uid for kind in ('nodes', 'images')
            for path in (directory / 'local' / kind).glob('*/root')} == {
                nobody}


@pytest.mark.skipif(os.geteuid() != 0, reason='root alone has other users')
def test_directory_that_the_user_can_not_reach(makeSite, directory, options):
    directory.chmod(0o700)
    site = makeSite()
    with pytest.raises(DriverError, match='cannot reach'):
        site.create(site.makeNode('1' * 32))
