"""A label moves from Nodepool to Zuul and back, beside a whole Zuul."""

import fcntl
import json
import re

import pytest
import yaml

from tests.fixtures.migration import convert
from tests.fixtures.nodepool import Nodepool, install
from zuul_nodes.quickstart.repositories import TENANTS
from zuul_nodes.quickstart.sshd import USER

pytestmark = [pytest.mark.services, pytest.mark.seconds(90)]

TIMEOUT = 180
LABEL, OTHER = 'debian-local', 'spare'


@pytest.fixture(scope='session')
def nodepool_program(ansible_directory):
    """:return: the program of Nodepool's launcher, which one of the workers
        installs."""
    directory = ansible_directory.with_name('nodepool')
    with open(f'{directory}.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install(directory)


@pytest.fixture
def site(makeSite):
    """A Zuul whose tenant has neither labels nor providers, but Nodepool's.
    """
    site = makeSite()
    tenants = site.settings.run / TENANTS
    text = tenants.read_text()
    assert 'use-nodepool: false' in text
    tenants.write_text(text.replace('use-nodepool: false',
                                    'use-nodepool: true'))
    site.nodes_file.write_text('')
    site.repositories.push('Have no nodes', site.nodes_file.parts[-3])
    site.startZooKeeper()
    site.startNode()
    site.startZuul()
    site.waitForZuul()
    return site


@pytest.fixture
def nodepool(site, nodepool_program):
    nodepool = Nodepool(site, nodepool_program)
    node = {'name': '127.0.0.1', 'connection-port': site.node.port,
            'python-path': '/usr/bin/python3'}
    nodepool.start([{**node, 'labels': LABEL, 'username': USER},
                    # It is only looked at.
                    {**node, 'labels': OTHER, 'username': 'nobody'}])
    return nodepool


@pytest.fixture
def getState(site, zuulNodes):
    """:return: a function that gives what ``--state`` shows of labels."""
    def run():
        result = zuulNodes('migrate', '--state', '-c', site.zuul_conf,
                           '--format', 'json')
        assert (result.returncode, result.stderr) == (0, '')
        return {each['label']: each
                for each in json.loads(result.stdout)['labels']}
    return run


def chooseLabel(converted, name):
    """:return: the converted stanzas with one of the labels alone, as text.
    """
    stanzas = []
    for file in ('labels', 'sections', 'providers'):
        for stanza in yaml.safe_load(
                converted.read(f'nodes/zuul.d/{file}.yaml')):
            (kind, content), = stanza.items()
            if kind == 'label' and content['name'] != name:
                continue
            if kind == 'provider':
                content['nodes'] = [node for node in content['nodes']
                                    if name in node['labels']]
                content['labels'] = [name]
            stanzas.append(stanza)
    return yaml.safe_dump(stanzas, sort_keys=False)


def test_a_label_moves_and_moves_back(
        site, nodepool, getState, tmp_path, zuulNodes):
    def waitForState(label, **expected):
        site.services.waitFor(
            lambda: (found := getState().get(label)) and expected.items()
            <= found.items(), f'{label} is not {expected}', TIMEOUT,
            'scheduler')

    def runJob():
        assert site.waitForBuild(site.push())['result'] == 'SUCCESS'
        return nodepool.countServed()

    def countServedByZuul():
        log = site.services.logFile('scheduler').read_text()
        return len(re.findall('Adding nodeset request', log))

    def waitForReadyNodes():
        site.services.waitFor(
            lambda: getState()[LABEL]['nodes']['ready'] == 1,
            'Nodepool has no ready node', TIMEOUT, 'nodepool')

    # Nodepool alone
    waitForState(LABEL, pools=['rack/main'], tenants=[])
    waitForReadyNodes()
    assert runJob() == 1
    assert not countServedByZuul()

    # One label moves.
    converted = convert(tmp_path, nodepool.conf)
    site.pushNodes(chooseLabel(converted, LABEL))
    waitForState(LABEL, pools=['rack/main'], tenants=['quickstart'])
    waitForState(OTHER, pools=['rack/main'], tenants=[])
    waitForReadyNodes()
    text = zuulNodes('migrate', '--state', '-c', site.zuul_conf).stdout
    assert 'have moved; set "min-ready: 0"\nthere' in text
    assert runJob() == 1
    assert countServedByZuul() == 1

    # And back
    site.pushNodes('')
    waitForState(LABEL, pools=['rack/main'], tenants=[])
    assert runJob() == 2
    assert countServedByZuul() == 1
