"""What the tutorials have their readers write is a tenant without errors."""

import configparser

import openstack
import pytest
import yaml

from tests.emulators.openstack import OpenStack
from tests.emulators.openstack.core import REGION
from tests.fixtures.checkruns import runCheck
from tests.fixtures.docblocks import ROOT, findBlocks, getCommands
from tests.fixtures.exampledrivers import FILES
from tests.fixtures.metricnames import readReference
from tests.unit.configloader.tenant import (
    CONFIG,
    NODES,
    TenantWithPipelines,
    enter,
)
from zuul_nodes.drivers.openstack import OpenstackDriver
from zuul_nodes.launcher.metrics.names import GROUPS, METRICS

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


def getShown(page):
    """:return: the lines of the block on a page that this file tests."""
    block, = (block for block in findBlocks(page)
              if block.tested_by.endswith('test_documentation_tutorials.py'))
    return [line for line in block.text.splitlines()
            if not line.startswith('$ ')]


def test_error_of_a_misspelt_attribute(load):
    shown, = getShown('tutorials/first-label.rst')
    tenant = load(CHECK, read('first-label', 'first-job').replace(
        'username:', 'usernam:'))
    error, = (error for error in tenant.errors if 'unknown' in error)
    assert shown in ' '.join(error.split())


@pytest.fixture
def cloud():
    """What the tutorial says that the cloud has."""
    cloud = OpenStack()
    client = openstack.connect(
        auth_url=cloud.keystone.url, region_name=REGION,
        **cloud.keystone.getCredentials())
    client.image.create_image(
        'debian-12', data=b'image', container_format='bare',
        disk_format='raw')
    cloud.nova.keypairs['zuul'] = {'name': 'zuul'}
    yield cloud
    cloud.end()


def test_first_cloud_is_checked(cloud, tmp_path, monkeypatch, capsys):
    nodes = tmp_path / 'zuul.d/nodes.yaml'
    nodes.parent.mkdir()
    nodes.write_text(read('first-cloud'))
    clouds = cloud.writeConfig(tmp_path / 'clouds.yaml', 'example')
    conf = tmp_path / 'zuul.conf'
    conf.write_text((EXAMPLES / 'openstack.conf').read_text().replace(
        '/etc/zuul/clouds.yaml', str(clouds)))
    status = runCheck(monkeypatch, OpenstackDriver, '-c', conf, nodes)
    captured = capsys.readouterr()
    assert (captured.err + captured.out).splitlines() == getShown(
        'tutorials/first-cloud.rst')
    assert status == 0


def test_elements_of_the_first_image_are_written():
    text = (ROOT / 'doc/source/tutorials/first-image.rst').read_text()
    jobs = {stanza['job']['name']: stanza['job'] for stanza in yaml.safe_load(
        (EXAMPLES / 'images.yaml').read_text()) if 'job' in stanza}
    elements = jobs['build-image-debian']['vars']['zuul_nodes_elements']
    ours = EXAMPLES / 'elements' / elements[-1]
    for name in ('element-deps', 'package-installs.yaml'):
        assert f'``elements/{ours.name}/{name}``' in text
    packages = yaml.safe_load((ours / 'package-installs.yaml').read_text())
    # The validation of the tutorial needs it.
    assert 'git' in packages


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
    assert readReference() == list(GROUPS)
    kinds = [(metric.name, metric.kind) for metric in METRICS]
    assert len(kinds) == len(set(kinds))
    code = '\n'.join(
        path.read_text()
        for path in (ROOT / 'zuul_nodes').rglob('*.py')
        if path.name != 'names.py')
    for name, _ in kinds:
        for part in name.replace('zuul.launcher.server.<hostname>.', ''
                                 ).split('.'):
            if not part.startswith('<'):
                assert part in code, name
