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


def load(text, parsers, connections):
    """
    :return: provider name -> what its configuration comes to; None for
        one that is an error, and for everything if the text is.
    """
    try:
        layout = makeLayout(text, parsers)
    except Exception:
        return None
    providers = {}
    for name, provider_config in layout.provider_configs.items():
        try:
            providers[name] = provider_config.flattenConfig(
                layout, connections)
        except Exception:
            providers[name] = None
    return providers


# They attach a provider to an abstract section: an error here, as the
# guide for tenant admins says.
DIFFERENT = {'openstack/nodepool-multi-project.yaml'}


def test_zuuls_own_fixtures(zuuls_fixtures):
    config = configparser.ConfigParser()
    config.read(zuuls_fixtures / 'zuul-connections-nodepool.conf')
    connections = makeConnections(config)
    layouts = zuuls_fixtures / 'layouts'
    zuuls, ours = {}, {}
    for path in layouts.rglob('*.yaml'):
        text = path.read_text()
        if '\n- provider:' in text:
            name = str(path.relative_to(layouts))
            zuuls[name] = load(text, ZUULS_PARSERS, connections)
            ours[name] = load(text, PARSERS, connections)
    assert {name for name in zuuls if zuuls[name] != ours[name]} == DIFFERENT
    # Most are not errors, and those that are, are errors of both.
    providers = [config for result in zuuls.values() if result
                 for config in result.values()]
    assert len(zuuls) > 60
    assert len([config for config in providers if config]) > 60
    assert None in providers
