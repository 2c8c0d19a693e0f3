"""Real files of Nodepool are converted, and what comes out loads.

What is compared with the source is counted here with plain YAML, without the
converter's code.
"""

import pytest
import yaml

from tests.fixtures.corpus import (
    BROKEN,
    CORPUS,
    FILES,
    FRAGMENT,
    GONE,
    OLD,
    TEMPLATE,
    getReason,
)
from tests.fixtures.migration import convert
from zuul_nodes.cmd import main

# Attribute of a pool -> name of the limit, by driver.
LIMITS = {
    'openstack': {'max-servers': 'instances', 'max-cores': 'cores',
                  'max-ram': 'ram'},
    'aws': {'max-servers': 'instances'},
    'kubernetes': {'max-servers': 'namespaces'},
    'openshift': {'max-servers': 'namespaces'},
    'openshiftpods': {'max-servers': 'pods'},
    'static': {},
}
# Attribute of a label -> attribute of the loaded label.
OF_LABELS = {'key-name': 'key_name', 'networks': 'networks',
             'console-log': 'console_log', 'volume-size': 'volume_size',
             'boot-from-volume': 'boot_from_volume', 'cpu': 'cpu',
             'userdata': 'userdata'}
OF_FLAVORS = {'flavor-name': 'flavor_name', 'min-ram': 'min_ram',
              'instance-type': 'instance_type'}
OF_IMAGES = {'image-id': 'image_id', 'username': 'username',
             'python-path': 'python_path', 'config-drive': 'config_drive',
             'connection-port': 'connection_port'}
@pytest.mark.skipif(not FILES, reason='the corpus is not here')
def test_the_corpus_is_complete():
    reasons = [getReason(row, CORPUS / name) for name, row in FILES.items()]
    assert len(reasons) == 52
    assert {reason: reasons.count(reason) for reason in reasons} == {
        None: 30, TEMPLATE: 11, OLD: 3, FRAGMENT: 6, BROKEN: 1, GONE: 1}


@pytest.mark.parametrize('name', FILES)
def test_file(name, tmp_path, capsys):
    path = CORPUS / name
    reason = getReason(FILES[name], path)
    if reason:
        output = tmp_path / 'out'
        assert main(['migrate', str(path), '--output', str(output)]) == 1
        message = capsys.readouterr().err
        assert message.startswith(f'zuul-nodes migrate: {name}') or (
            reason == GONE)
        assert reason in message
        assert message.count('\n') == 1
        assert not output.exists()
        return
    content = yaml.safe_load(path.read_text())
    converted = convert(tmp_path, path).load()
    assert 'does not load' not in converted.report
    compareCounts(content, converted)
    for provider in content['providers']:
        for pool in provider.get('pools', ()):
            comparePool(content, provider, pool, converted)


def compareCounts(content, converted):
    providers = content['providers']
    assert list(converted.get('section')) == [
        provider['name'] for provider in providers]
    pools = [pool for provider in providers
             for pool in provider.get('pools', ())]
    assert len(converted.providers) == len(pools)
    offered = {label for pool in pools for label in getLabels(pool)}
    assert converted.layout.labels.keys() == offered
    images = {image['name'] for provider in providers
              for image in provider.get('diskimages', ())
              if not image.get('pause')
              or isUsed(provider, image['name'])}
    assert {name for name, image in converted.layout.images.items()
            if image.type == 'zuul'} >= images
    built = {image['name'] for image in content.get('diskimages', ())
             if image.get('elements') and image['name'] in images
             and not image.get('abstract')}
    assert {stanza['image-build-name']
            for name, stanza in converted.get('job').items()
            if name.startswith('build-image-')} >= built


def getLabels(pool):
    """:return: name of a label -> its attributes."""
    return {**{label['name']: label for label in pool.get('labels', ())},
            **{label: {} for node in pool.get('nodes', ())
               for label in node['labels'].split()}}


def isUsed(provider, image):
    return any(label.get('diskimage') == image
               for pool in provider.get('pools', ())
               for label in pool.get('labels', ()))


def comparePool(content, provider, pool, converted):
    """Compare a pool with the provider that it has become."""
    driver = provider.get('driver', 'openstack')
    name = (provider['name'] if len(provider['pools']) == 1
            else f'{provider["name"]}-{pool["name"]}')
    loaded = converted.providers[name]
    assert converted.layout.provider_configs[
        name].section == provider['name']
    expected = {new: pool[old] for old, new in LIMITS[driver].items()
                if old in pool}
    if 'max-pods' in provider:
        expected['pods'] = provider['max-pods']
    assert loaded.resource_limits == expected
    labels = getLabels(pool)
    assert list(loaded.labels) == list(labels)
    for label_name, source in labels.items():
        label = loaded.labels[label_name]
        for old, new in OF_LABELS.items():
            if old in source:
                assert getattr(label, new) == source[old], (label_name, old)
        if 'networks' in pool and 'networks' not in source:
            assert label.networks == pool['networks']
        if driver in ('openstack', 'aws'):
            compareSize(source, loaded, label)
            compareImage(content, provider, source, loaded, label)
        if driver != 'static':
            assert label.boot_timeout == provider.get('boot-timeout', {
                'openstack': 60, 'aws': 180}.get(driver, 300))


def compareSize(source, loaded, label):
    flavor = loaded.flavors[label.flavor]
    for old, new in OF_FLAVORS.items():
        if old in source:
            assert getattr(flavor, new) == source[old]


def compareImage(content, provider, source, loaded, label):
    image = loaded.images[label.image]
    if 'cloud-image' in source:
        expected = next(each for each in provider['cloud-images']
                        if each['name'] == source['cloud-image'])
        assert image.type == 'cloud'
        assert (image.image_id or image.image_name) in (
            expected.get('image-id'), expected.get('image-name'),
            expected['name'])
    else:
        expected = next((each for each in provider.get('diskimages', ())
                         if each['name'] == source['diskimage']), {})
        assert (image.type, image.name) == ('zuul', source['diskimage'])
        assert image.username == expected.get('username', next(
            (each['username'] for each in content.get('diskimages', ())
             if each['name'] == image.name and 'username' in each), 'zuul'))
        if 'driver' not in provider:
            assert image.import_timeout == provider.get(
                'image-upload-timeout', 3600)
    if provider.get('driver', 'openstack') == 'openstack':
        assert image.config_drive == expected.get('config-drive', False)
    for old, new in OF_IMAGES.items():
        if old in expected:
            assert getattr(image, new) == expected[old], old


@pytest.mark.skipif(not FILES, reason='the corpus is not here')
def test_all_files_of_a_site_are_read_together(tmp_path):
    """OpenDev has two builders and several launchers."""
    paths = [CORPUS / f'openstack-project-config__{name}.yaml' for name in (
        'nodepool', 'nb07.opendev.org', 'nl01.opendev.org',
        'nl03.opendev.org', 'nl04.opendev.org')]
    contents = [yaml.safe_load(path.read_text()) for path in paths]
    converted = convert(tmp_path, *paths).load()
    pools = [pool for content in contents for provider in content['providers']
             for pool in provider.get('pools', ())]
    assert len(converted.providers) == len(pools)
    assert sum(loaded.resource_limits.get('instances', 0) for loaded
               in converted.providers.values()) == sum(
                   pool.get('max-servers', 0) for pool in pools)
    assert 'No file says how' not in converted.report
    jobs = converted.get('job')
    arm, intel = (jobs[f'build-image-ubuntu-noble{suffix}']['vars']
                  for suffix in ('-arm64', ''))
    # Each builder has a base of its own.
    assert arm['zuul_nodes_elements'] != intel['zuul_nodes_elements']


def test_two_runs_give_equal_files(tmp_path):
    path = next(iter(sorted(CORPUS.glob('openstack-project-config__nl03*'))),
                None)
    if path is None:
        pytest.skip('the corpus is not here')
    texts = []
    for name in ('one', 'two'):
        directory = tmp_path / name
        directory.mkdir()
        texts.append(convert(directory, path).getText())
    assert texts[0] == texts[1]
