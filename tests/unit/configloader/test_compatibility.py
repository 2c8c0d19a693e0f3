"""What Zuul accepts means what it has always meant.

Zuul's own fixtures are loaded by its parsers and by ours.  They are fetched
from where Zuul is, for none of its files is in this tree.
"""

import configparser
import importlib.metadata
import shutil
import subprocess
import sys

import pytest
from zuul.lib.connections import ConnectionRegistry

from tests.fixtures.layout import (
    PARSERS,
    ZUULS_PARSERS,
    makeConnections,
    makeLayout,
)

pytestmark = pytest.mark.services


@pytest.fixture(scope='module')
def zuuls_fixtures(tmp_path_factory):
    """:return: the directory of fixtures in Zuul's source distribution."""
    directory = tmp_path_factory.mktemp('zuul')
    version = importlib.metadata.version('zuul')
    subprocess.run(
        [sys.executable, '-m', 'pip', 'download', '-q', '--no-deps',
         '--no-binary', 'zuul', '-d', directory, f'zuul=={version}'],
        check=True, timeout=300)
    archive, = directory.glob('zuul-*.tar.gz')
    shutil.unpack_archive(archive, directory)
    return directory / f'zuul-{version}/tests/fixtures'


def load(text, parsers, connections, zk_client):
    """
    :return: provider name -> what Zuul makes of its configuration; None
        for one that is an error, and for everything if the text is.
    """
    try:
        layout = makeLayout(text, parsers)
    except Exception:
        return None
    return {name: loadProvider(provider_config, layout, connections,
                               zk_client)
            for name, provider_config in layout.provider_configs.items()}


def loadProvider(provider_config, layout, connections, zk_client):
    """:return: kind -> name -> attribute -> value; None for an error."""
    try:
        config = provider_config.flattenConfig(layout, connections)
        connection = connections[config['connection']]
        provider = connection.driver.getProvider(
            zk_client, connection, 'tenant', provider_config.canonical_name,
            config, 'system')
    except Exception:
        return None
    parts = {kind: {name: dict(vars(part)) for name, part
                    in getattr(provider, kind).items()}
             for kind in ('images', 'flavors', 'labels')}
    for label in parts['labels'].values():
        # It has what the label takes over from image and flavor, which
        # Zuul leaves to the driver, and the section's quota.
        del label['config_hash']
        label.pop('zuul_nodes', None)
    parts['provider'] = {'provider': {
        key: value for key, value in config.items() if key not in parts}}
    return parts


# What the guide for tenant admins lists.
ABSTRACT = 'the provider is attached to an abstract section'
FLAVORS = 'providers may have flavors'
TAGS = 'nodes have the tags of their image'
DIFFERENT = {
    'openstack/nodepool-multi-project.yaml': ABSTRACT,
    'openstack/nodepool-image.yaml': TAGS,
    'aws/nodepool-image-snapshot.yaml': TAGS,
    'nodepool-provider-flavors.yaml': FLAVORS,
    'openstack/nodepool-multi.yaml': FLAVORS,
}


CLOUDS = """
clouds:
  fakecloud:
    auth: {auth_url: 'http://127.0.0.1:1/', username: zuul, password: zuul}
    image_format: raw
"""


def setCloud(connections, directory):
    """Give OpenStack the cloud of Zuul's fixtures, of which nothing but
    the format of images is asked."""
    clouds = directory / 'clouds.yaml'
    clouds.write_text(CLOUDS)
    for connection in connections.values():
        if connection.driver.name == 'openstack':
            # Zuul's own option gives the SDK a string, and fails.
            connection.config_files = [str(clouds)]


def test_zuuls_own_fixtures(zuuls_fixtures, zk_client, tmp_path):
    config = configparser.ConfigParser()
    config.read(zuuls_fixtures / 'zuul-connections-nodepool.conf')
    zuuls_registry = ConnectionRegistry()
    zuuls_registry.configure(config, providers=True)
    connections = makeConnections(config)
    setCloud(zuuls_registry.connections, tmp_path)
    setCloud(connections, tmp_path)
    layouts = zuuls_fixtures / 'layouts'
    zuuls, ours = {}, {}
    for path in layouts.rglob('*.yaml'):
        text = path.read_text()
        if '\n- provider:' in text:
            name = str(path.relative_to(layouts))
            zuuls[name] = load(text, ZUULS_PARSERS,
                               zuuls_registry.connections, zk_client)
            ours[name] = load(text, PARSERS, connections, zk_client)
    zuuls_registry.stop()
    assert {name for name in zuuls if zuuls[name] != ours[name]
            } == DIFFERENT.keys()
    for name, why in DIFFERENT.items():
        if why is TAGS:
            for provider in (*zuuls[name].values(), *ours[name].values()):
                for label in provider['labels'].values():
                    del label['tags']
            assert zuuls[name] == ours[name]
    # Most are not errors, and those that are, are errors of both.
    providers = [config for result in zuuls.values() if result
                 for config in result.values()]
    assert len(zuuls) > 60
    assert len([config for config in providers if config]) > 60
    assert None in providers
