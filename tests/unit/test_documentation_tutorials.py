"""What the tutorials have their readers write is a tenant without errors."""

import configparser

import pytest

from tests.fixtures.docblocks import ROOT, findBlocks, getCommands
from tests.fixtures.exampledrivers import FILES
from tests.fixtures.metricnames import readReference
from tests.unit.configloader.tenant import (
    CONFIG,
    NODES,
    TenantWithPipelines,
    enter,
)
from zuul_nodes.launcher.metrics.names import METRICS

EXAMPLES = ROOT / 'doc/source/examples'
CHECK = '''
- pipeline:
    name: check
    manager: independent

- job:
    name: base
    parent: null
'''
# What the tutorial takes for granted.
BUILDER = '''
- label:
    name: builder

- section:
    name: shelf
    connection: null
    nodes:
      - name: shelf.example.com
        label: builder

- provider:
    name: shelf
    section: shelf
    labels: [builder]

- secret:
    name: image_storage
    data:
      access_key: zuul
'''


def read(*names):
    return '\n'.join((EXAMPLES / f'{name}.yaml').read_text()
                     for name in names)


@pytest.fixture
def load(monkeypatch, zk_client, tmp_path):
    """:return: a function that loads a tenant with files."""
    enter(monkeypatch)
    config = configparser.ConfigParser()
    clouds = tmp_path / 'clouds.yaml'
    clouds.write_text(FILES['clouds.yaml'])
    config.read_string(
        '[connection openstack]\ndriver = openstack\ncloud = example\n'
        f'client_config_file = {clouds}\n')

    def load(base, text):
        return TenantWithPipelines({
            (CONFIG, 'main', 'zuul.d/base.yaml'): base,
            (NODES, 'main', 'zuul.d/nodes.yaml'): text},
            config=config, zk_client=zk_client)
    return load


def test_first_label(load):
    tenant = load(CHECK, read('first-label', 'first-job'))
    assert tenant.errors == []
    assert tenant.layout.getJob('hello')


def test_first_cloud(load):
    tenant = load(CHECK, read('first-cloud'))
    assert tenant.errors == []
    assert tenant.layout.labels['debian-small'].min_ready == 1


def test_first_image(load):
    tenant = load(
        CHECK + read('image-pipelines'),
        (ROOT / 'zuul.d/jobs.yaml').read_text()
        + read('images', 'first-image') + BUILDER)
    assert tenant.errors == []
    assert tenant.layout.getJob(
        'build-image-debian').image_build_name == 'debian'


def test_chosen_scenarios_are_in_the_kit():
    """pytest selects some with each expression of the guides."""
    kit = '\n'.join(
        path.read_text()
        for path in (ROOT / 'zuul_nodes/testing').rglob('*.py'))
    expressions = [
        words[words.index('-k') + 1]
        for page in ('howto/conformance-subset.rst',
                     'tutorials/first-driver.rst')
        for block in findBlocks(page) if block.language == 'console'
        for words in getCommands(block.text)[0] if '-k' in words]
    assert len(expressions) > 4
    for expression in expressions:
        for word in expression.split():
            if word not in ('or', 'and', 'not'):
                name = word.removeprefix('test_')
                assert f'def test_{name}' in kit, expression


def test_metrics_of_the_reference():
    """They are all that the launcher has, and the code sends each of them."""
    names = readReference()
    assert len(names) == len(set(names))
    assert set(names) == {(metric.name, metric.kind) for metric in METRICS}
    code = '\n'.join(
        path.read_text()
        for path in (ROOT / 'zuul_nodes').rglob('*.py')
        if path.name != 'names.py')
    for name, _ in names:
        for part in name.replace('zuul.launcher.server.<hostname>.', ''
                                 ).split('.'):
            if not part.startswith('<'):
                assert part in code, name
