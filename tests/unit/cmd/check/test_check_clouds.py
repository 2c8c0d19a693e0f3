"""What is proposed is asked of the clouds without ZooKeeper."""

import argparse
import functools
import io
import pathlib

import pytest

from tests.emulators.azure import Azure
from tests.emulators.gce import GCE
from tests.emulators.kubernetes import Emulator
from tests.fixtures.ending import endWith
from tests.unit.drivers.azure import sites as azuresites
from zuul_nodes import zuulconf
from zuul_nodes.cmd.check import command as check
from zuul_nodes.cmd.check import providers
from zuul_nodes.cmd.check.asking import ask
from zuul_nodes.drivers.gce import GceDriver
from zuul_nodes.drivers.kubernetes import KubernetesDriver
from zuul_nodes.drivers.openstack import OpenstackDriver
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.quickstart import ports
from zuul_nodes.testing.layout import makeConnections

EXAMPLES = pathlib.Path(__file__).parents[4] / 'doc/source/examples'


@pytest.fixture
def askFiles(tmp_path, monkeypatch):
    """:return: a function that asks about the providers in a text, and
        gives (subject, name) -> what is wrong, but for what is right."""
    found = []

    def run(driver_class, options, text):
        monkeypatch.setattr(
            providers, 'Connections',
            lambda config: makeConnections(config, driver_class))
        conf = tmp_path / 'zuul.conf'
        conf.write_text('\n'.join(
            [f'[connection {options.pop("name")}]',
             *(f'{key}={value}' for key, value in options.items())]))
        file = tmp_path / 'nodes.yaml'
        file.write_text(text)
        parser = argparse.ArgumentParser()
        check.addArguments(parser)
        args = parser.parse_args(
            ['-c', str(conf), '--files', str(file)])
        made, errors = providers.findInFiles(
            zuulconf.read(args.config), args)
        assert not errors
        found.extend(made)
        report = ask(made, 60, io.StringIO())
        assert not report.errors
        return {(each.what, each.name): each.problem for each
                in report.results if each.problem}
    yield run
    for provider in found:
        provider.driver.stop()


def change(text, old, new):
    assert old in text
    return text.replace(old, new)


@pytest.fixture
def gce():
    emulator = GCE()
    emulator.buckets.create('images', emulator.project)
    yield emulator
    emulator.end()


@pytest.fixture
def askGce(askFiles, gce):
    text = (EXAMPLES / 'gce.yaml').read_text()

    def run(old, new):
        return askFiles(GceDriver, {
            'name': 'gce', 'driver': 'gce', 'project': gce.project,
            'bucket': 'images', 'api_endpoint': gce.url,
            'storage_endpoint': gce.storage_url}, change(text, old, new))
    return run


def test_gce(askGce):
    assert askGce('debian', 'debian') == {}


@pytest.mark.parametrize(('old', 'new', 'subject', 'name', 'said'), [
    ('image-family: debian-12', 'image-family: debian-99', 'image',
     'debian-99', 'The project "debian-cloud" has no such family of images'),
    ('network-tags: [ci-node]', 'network: lan', 'network', 'lan',
     'The project "zuul" has no such network'),
    ('network-tags: [ci-node]', 'subnetwork: lan', 'subnetwork', 'lan',
     'The project "zuul" has no such subnetwork in us-central1'),
    ('image-family: debian-12', 'image-id: disks/debian', 'image',
     'disks/debian', 'disks/debian is not the path of an image; use '
     'projects/PROJECT/global/images/NAME'),
    ('network-tags: [ci-node]',
     'subnetwork: projects/zuul/regions/us-east1/subnetworks/lan',
     'subnetwork', 'projects/zuul/regions/us-east1/subnetworks/lan',
     'It is in the region us-east1, but the nodes are in us-central1'),
    ('pd-balanced', 'pd-none', 'disk type', 'pd-none',
     'It does not exist in us-central1-a, us-central1-b, us-central1-f'),
    # Only the zone is wrong then, whatever cannot be there.
    ('network-tags: [ci-node]', 'az: us-central1-z', 'zone', 'us-central1-z',
     'There is no such zone; the zones are us-central1-a, us-central1-b, '
     'us-central1-f'),
])
def test_what_gce_lacks(askGce, old, new, subject, name, said):
    assert askGce(old, new) == {(subject, name): said}


@pytest.mark.parametrize(('path', 'subject'), [
    ('.*/b/images', 'bucket'), ('.*/images/family/debian-12', 'image'),
    ('.*/networks/default', 'network'), ('.*/regions/.*', 'quota')])
def test_what_gce_refuses_to_say(askGce, gce, path, subject):
    gce.inject('GET', path, 403, 'Not for you', times=100)
    found = {what: said for (what, _), said in askGce(
        'debian', 'debian').items()}
    assert list(found) == [subject]
    assert found[subject].startswith('GCE: ')
    assert 'Not for you' in found[subject]


def test_zones_of_a_label(askGce, gce):
    found = askGce('labels: [debian, built]', (
        'labels: [{name: debian, volume-type: pd-none, '
        'availability-zones: [us-central1-a, us-central1-b]}]'))
    assert found == {('disk type', 'pd-none'): (
        'It does not exist in us-central1-a, us-central1-b')}


@pytest.fixture
def askOpenstack(askFiles, openstack, tmp_path):
    text = (EXAMPLES / 'openstack.yaml').read_text()

    def run(*changes, more=''):
        content = functools.reduce(
            lambda content, pair: change(content, *pair), changes, text)
        return askFiles(OpenstackDriver, {
            'name': 'openstack', 'driver': 'openstack', 'cloud': 'emulator',
            'client_config_file':
            openstack.writeConfig(tmp_path / 'clouds.yaml')},
            content + more)
    return run


def test_openstack(askOpenstack):
    assert askOpenstack() == {}
    assert list(askOpenstack(('key-name: zuul', 'key-name: zul'))) == [
        ('key', 'zul')]


FROM_PROVIDER = ('      - name: debian\n        instance',
                 '      - name: debian\n        {}\n        instance')
FROM_LABEL = 'name: debian, image: debian,', 'name: debian, {}, image: debian,'


@pytest.mark.parametrize(('places', 'attribute', 'wrong', 'said'), [
    (FROM_PROVIDER, 'flavor-name: m1.smal', ('flavor', 'm1.smal'),
     'mean "m1.small"'),
    (FROM_PROVIDER, 'image-name: debian-13', ('image', 'debian-13'),
     'mean "debian-12"'),
    (FROM_PROVIDER, 'min-ram: 900000', ('flavor', 'm1.small'),
     'with 900000 MiB'),
    # Its provider's flavor says nothing of that.
    (FROM_LABEL, 'min-ram: 900000', ('flavor', 'm1.small'),
     'with 900000 MiB')])
def test_what_a_label_says_of_its_own(
        askOpenstack, places, attribute, wrong, said):
    old, new = places
    found = askOpenstack((old, new.format(attribute)))
    assert list(found) == [wrong]
    assert said in found[wrong]


def test_what_a_label_replaces_is_not_asked_for(askOpenstack):
    wrong = 'flavor-name: m1.small', 'flavor-name: m1.smal'
    assert list(askOpenstack(wrong)) == [('flavor', 'm1.smal')]
    old, new = FROM_PROVIDER
    assert askOpenstack(wrong, (old, new.format(wrong[0]))) == {}


def test_a_cloud_that_is_gone_is_one_line(askOpenstack, openstack):
    openstack.end()
    assert list(askOpenstack()) == [('cloud', 'emulator')]


def getQuestions(openstack):
    """:return: all calls but those that find versions of an interface, which
        two threads may do at the same time."""
    return [(method, path) for method, path in openstack.calls
            if path.count('/') > 2]


def test_providers_of_a_cloud_ask_once(askOpenstack, openstack):
    askOpenstack()
    asked = len(getQuestions(openstack))
    assert asked
    second = '''
- provider:
    name: second
    section: openstack
    label-defaults: {networks: [private], key-name: zuul}
    labels: [debian]
'''
    assert askOpenstack(more=second) == {}
    assert len(getQuestions(openstack)) == 2 * asked


def test_azure(askFiles, request):
    azure = endWith(request, Azure())
    azure.images.add('base')
    for old, new, wrong in (
            ('debian', 'debian', []),
            ('{network: zuul}', '{network: lan}', ['subnet']),
            ('image-filter: {name: base}', 'image-filter: {name: none}',
             ['image'])):
        found = askFiles(azuresites.Driver, {
            'name': 'azure', 'driver': 'azure', 'endpoint_url': azure.url,
            **azure.credentials}, azuresites.LAYOUT.replace(old, new))
        assert [what for what, _ in found] == wrong


def test_kubernetes(askFiles, tmp_path):
    cluster = Emulator()
    try:
        options = {'driver': 'kubernetes', 'kubeconfig_file':
                   cluster.writeConfig(tmp_path / 'kubeconfig')}
        found = askFiles(
            KubernetesDriver, {'name': 'cluster', **options},
            (EXAMPLES / 'kubernetes.yaml').read_text())
        assert 'has no namespace "ci"' in found['namespace', 'ci']
    finally:
        cluster.end()


def test_static_nodes(askFiles):
    port = ports.freePort()
    found = askFiles(StaticDriver, {
        'name': 'office', 'driver': 'static', 'hosts': '127.0.0.1'}, f'''
- label: {{name: desk}}
- section:
    name: office
    connection: office
    nodes: [{{name: 127.0.0.1, label: desk, connection-port: {port}}}]
- provider: {{name: office, section: office, labels: [desk]}}
''')
    assert list(found) == [('machine', f'127.0.0.1 port {port}')]
