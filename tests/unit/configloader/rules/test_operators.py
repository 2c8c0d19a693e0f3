"""What the operator changes takes effect in providers that are in error."""

import configparser
import copy
import json
import types
import zlib

import pytest
from zuul.zk.sharding import BufferedShardWriter

from tests.unit.configloader.tenant import (
    CONFIG,
    NODES,
    Tenant,
    change,
    loadAgain,
    write,
)
from zuul_nodes import providerrecords
from zuul_nodes.launcher.providers.quota import getSectionLimits

SECTIONS = (CONFIG, 'main', 'zuul.d/sections.yaml')
CENTRAL = (CONFIG, 'main', 'zuul.d/central.yaml')
PROVIDERS = (NODES, 'main', 'zuul.d/providers.yaml')
LABELS = (NODES, 'main', 'zuul.d/labels.yaml')
BASE = '''
- section:
    name: base
    abstract: true
    connection: west
    image-defaults: {username: root}
    resource-limits: {cores: 80}
'''
ROOM = '''
- section:
    name: room
    parent: base
    region: region-1
    images: [{name: debian, image-id: ami-1}]
    flavors: [{name: small, instance-type: t3.small}]
    resource-limits: {instances: 100}
'''
DESK = '''
- section:
    name: desk
    connection: null
    nodes: [{name: 198.51.100.1, label: debian},
            {name: 198.51.100.2, label: debian}]
    images: [debian]
    flavors: [small]
'''
PROVIDER = '''
- provider:
    name: room
    section: room
    resource-limits: {ram: 4096}
    labels: [{name: debian, key-name: mine}]
'''
ON_DESK = '''
- provider: {name: desk, section: desk, labels: [debian]}
'''
FILES = {
    CENTRAL: '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
''',
    SECTIONS: BASE + ROOM + DESK,
    LABELS: '''
- label: {name: debian, image: debian, flavor: small, boot-timeout: 5}
''',
    PROVIDERS: PROVIDER + ON_DESK,
}
CONF = '''
[connection west]
driver=aws
access_key_id=x
secret_access_key=y

[connection east]
driver=aws
access_key_id=x
secret_access_key=y

[connection gce]
driver=gce
project=p
'''

TYPOS = {
    'attribute': {PROVIDERS: PROVIDER.replace('key-name', 'kye-name')
                  + ON_DESK.replace('[debian]', '[debian], spede: 3')},
    'stanza': {PROVIDERS: PROVIDER.replace('section: room', 'section: [room]')
               + ON_DESK.replace('section: desk', 'section: [desk]')},
    'file': {PROVIDERS: PROVIDER + ON_DESK + '- provider: {name: more'},
    'section': {PROVIDERS: PROVIDER.replace('section: room', 'section: rom')
                + ON_DESK.replace('section: desk', 'section: dask')},
    'label': {LABELS: FILES[LABELS].replace('boot-timeout', 'bot-timeout')},
    'file of the label': {LABELS: '- label: {name: debian'},
    'no label': {LABELS: '[]'},
}


@pytest.fixture
def tenant(zk_client, seams, context):
    config = configparser.ConfigParser()
    config.read_string(CONF)
    tenant = Tenant(FILES, zk_client=zk_client, config=config)
    assert tenant.errors == []
    write(tenant, context)
    return tenant


@pytest.fixture
def reload(tenant, context):
    """Change files as the operator or the tenant does.

    Each scheduler finds the same, before and after one of them has written
    it, and so does one that starts anew.
    """
    def reload(files):
        for path, text in files.items():
            change(tenant, path, text)
        if not files:
            loadAgain(tenant)
        found = getConfigs(tenant)
        write(tenant, context)
        for _ in range(2):
            loadAgain(tenant)
            assert getConfigs(tenant) == found
        return types.SimpleNamespace(**tenant.layout.providers)
    return reload


# Those that the loader treats differently.
SOME = ('attribute', 'file', 'no label')


@pytest.fixture(params=SOME)
def typo(request, tenant, reload):
    """The tenant's own mistake."""
    before = getConfigs(tenant)
    reload(TYPOS[request.param])
    assert tenant.errors
    assert getConfigs(tenant) == before


def getConfigs(tenant):
    return {name: copy.deepcopy(provider.config)
            for name, provider in tenant.layout.providers.items()}


def alter(old, new, text=FILES[SECTIONS]):
    assert old in text
    return {SECTIONS: text.replace(old, new)}


@pytest.mark.parametrize('typo', TYPOS, indirect=True)
@pytest.mark.usefixtures('typo')
def test_a_lower_limit_and_another_machine_count_despite_any_typo(reload):
    found = reload(alter('198.51.100.2', '198.51.100.99', alter(
        'instances: 100', 'instances: 1')[SECTIONS]))
    assert getSectionLimits(found.room) == {'instances': 1, 'cores': 80}
    assert [node.name for node in found.desk.nodes.values()] == [
        '198.51.100.1', '198.51.100.99']


@pytest.mark.parametrize('limits, expected', [
    ('resource-limits: {instances: 900}', {'instances': 900, 'cores': 80}),
    ('quota: {instances: 1}', {'instances': 1, 'cores': 80}),
    ('', {'cores': 80}),
])
@pytest.mark.usefixtures('typo')
def test_limits_of_a_section_count_at_once(reload, limits, expected):
    room = reload(alter('resource-limits: {instances: 100}', limits)).room
    assert getSectionLimits(room) == expected
    assert room.config['resource-limits'] == expected | {'ram': 4096}
    assert room.labels['debian'].key_name == 'mine'
    assert room.labels['debian'].boot_timeout == 5


@pytest.mark.usefixtures('typo')
def test_limits_that_are_all_removed_do_not_stay(reload):
    room = reload(alter(
        'resource-limits: {cores: 80}', '', alter(
            'resource-limits: {instances: 100}', '')[SECTIONS])).room
    assert getSectionLimits(room) == {}
    assert room.config['resource-limits'] == {'ram': 4096}


@pytest.mark.usefixtures('typo')
def test_machines_that_a_section_loses_are_gone(reload):
    desk = reload(alter(
        ',\n            {name: 198.51.100.2, label: debian}', '')).desk
    assert [node.name for node in desk.nodes.values()] == ['198.51.100.1']


@pytest.mark.parametrize('old, new, get, expected', [
    ('region-1', 'region-2', lambda room: room.region, 'region-2'),
    ('connection: west', 'connection: east',
     lambda room: room.connection_name, 'east'),
    ('ami-1', 'ami-2', lambda room: room.images['debian'].image_id, 'ami-2'),
    ('t3.small', 't3.tiny',
     lambda room: room.flavors['small'].instance_type, 't3.tiny'),
    ('username: root', 'username: admin',
     lambda room: room.images['debian'].username, 'admin'),
])
@pytest.mark.usefixtures('typo')
def test_other_changes_of_a_section_count_at_once(
        reload, old, new, get, expected):
    room = reload(alter(old, new)).room
    assert get(room) == expected
    assert room.labels['debian'].key_name == 'mine'


@pytest.mark.usefixtures('typo')
def test_two_changes_in_a_row_count(reload):
    reload(alter('region-1', 'region-2'))
    room = reload(alter('instances: 100', 'instances: 2')).room
    assert room.region == 'region-1'
    assert getSectionLimits(room)['instances'] == 2


GONE = {
    'removed': (alter(ROOM, ''), {'desk'}),
    'parent removed': (alter(BASE, ''), {'desk'}),
    'abstract': (alter('region: region-1', 'abstract: true'), {'desk'}),
    'static removed': (alter(DESK, ''), {'room'}),
    'all removed': ({SECTIONS: '[]'}, set()),
}


@pytest.mark.parametrize('files, expected', GONE.values(), ids=GONE)
@pytest.mark.usefixtures('typo')
def test_without_its_section_a_provider_is_out_of_service(
        tenant, reload, files, expected):
    reload(files)
    assert tenant.layout.providers.keys() == expected
    # It does not come back by itself.
    reload({PROVIDERS: TYPOS['file'][PROVIDERS]})
    assert tenant.layout.providers.keys() == expected


@pytest.mark.parametrize('files, expected', GONE.values(), ids=GONE)
def test_a_provider_without_a_typo_is_out_of_service_as_well(
        tenant, reload, files, expected):
    reload(files)
    assert tenant.layout.providers.keys() == expected
    for error in tenant.errors:
        assert '..' not in error
    assert any(error.endswith('. Until this is corrected, the provider is '
                              'out of service') for error in tenant.errors)
    reload(FILES)
    assert tenant.errors == []
    assert tenant.layout.providers.keys() == {'room', 'desk'}


@pytest.mark.usefixtures('typo')
def test_a_provider_is_out_of_service_beyond_tightened_bounds(
        tenant, reload):
    tenant.connections.connections['west'].connection_config['tenants'] = (
        'another')
    reload({})
    assert tenant.layout.providers.keys() == {'desk'}


@pytest.mark.usefixtures('typo')
def test_a_provider_is_out_of_service_without_its_connection(tenant, reload):
    del tenant.connections.connections['west']
    reload({})
    assert tenant.layout.providers.keys() == {'desk'}


# Nothing of these gives a valid provider.
MISFITS = {
    'image removed': ('images: [{name: debian, image-id: ami-1}]', ''),
    'flavor removed': ('flavors: [{name: small, instance-type: t3.small}]',
                       ''),
    'image misspelt': ('images: [{name: debian,', 'images: [{name: debain,'),
    'attribute misspelt': ('region: region-1', 'regoin: region-1'),
    'given twice': ('parent: base', 'parent: base\n    az: a\n'
                    '    availability-zones: [b]'),
    'connection misspelt': ('connection: west', 'connection: wets'),
}


@pytest.mark.parametrize('old, new', MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize('typo_first', [True, False])
def test_limits_count_even_if_the_provider_does_not_fit(
        tenant, reload, old, new, typo_first):
    """An operator's typo does not cost the tenants their providers."""
    if typo_first:
        reload(TYPOS['attribute'])
    room = reload(alter(old, new, alter(
        'instances: 100', 'instances: 3')[SECTIONS])).room
    assert tenant.errors
    assert getSectionLimits(room) == {'instances': 3, 'cores': 80}
    assert room.config['resource-limits'] == {
        'instances': 3, 'cores': 80, 'ram': 4096}
    assert room.region == 'region-1'
    assert room.images['debian'].image_id == 'ami-1'
    # The next change counts, too, and so does the correction.
    room = reload(alter(old, new)).room
    assert getSectionLimits(room)['instances'] == 100
    room = reload(alter('ami-1', 'ami-2')).room
    assert room.images['debian'].image_id == 'ami-2'


def test_machines_count_even_if_the_provider_does_not_fit(tenant, reload):
    desk = reload(alter('198.51.100.2', '198.51.100.99', alter(
        'images: [debian]\n    flavors: [small]',
        'images: [debian]\n    spede: 3')[SECTIONS])).desk
    assert len(tenant.errors) == 1
    assert [node.name for node in desk.nodes.values()] == [
        '198.51.100.1', '198.51.100.99']


@pytest.mark.parametrize('old, new', [
    ('instances: 100', 'instances: many'),
    ('resource-limits: {instances: 100}',
     'resource-limits: {instances: 3}\n    quota: {instances: 4}'),
    ('resource-limits: {instances: 100}', 'resource-limits: 7'),
])
def test_limits_that_are_invalid_stay_as_they_were(tenant, reload, old, new):
    room = reload(alter(old, new)).room
    assert tenant.errors
    assert getSectionLimits(room) == {'instances': 100, 'cores': 80}
    assert room.config['resource-limits'] == {
        'instances': 100, 'cores': 80, 'ram': 4096}


@pytest.mark.parametrize('text', [
    FILES[SECTIONS] + '- section: {name: more',
    BASE + ROOM.replace('parent: base', 'parent: [base]') + DESK,
    BASE.replace('abstract: true', 'abstract: very') + ROOM + DESK,
    BASE + ROOM.replace('parent: base', 'parent: bsae') + DESK,
    BASE.replace('abstract: true', 'parent: room') + ROOM + DESK,
], ids=['file', 'stanza', 'stanza of the parent', 'parent', 'cycle'])
@pytest.mark.parametrize('typo', ['attribute', 'file'])
def test_a_section_that_is_misspelt_is_not_removed(
        tenant, reload, text, typo):
    before = getConfigs(tenant)
    reload({SECTIONS: text})
    assert getConfigs(tenant) == before
    reload(TYPOS[typo])
    assert getConfigs(tenant) == before
    reload(alter(ROOM, ''))
    assert tenant.layout.providers.keys() == {'desk'}


def test_a_section_is_removed_despite_an_error_elsewhere(tenant, reload):
    reload({SECTIONS: BASE + DESK, LABELS: '- label: {name: debian',
            CENTRAL: FILES[CENTRAL] + '- image: {name: [more]}'})
    assert tenant.layout.providers.keys() == {'desk'}


def test_a_provider_does_not_stay_at_the_connection_of_another_driver(
        tenant, reload):
    reload({PROVIDERS: PROVIDER.replace(
        'key-name: mine', 'imds-http-tokens: required') + ON_DESK})
    assert tenant.errors == []
    reload(alter('connection: west', 'connection: gce'))
    assert 'room' not in tenant.layout.providers


def test_a_section_of_the_same_project_stays_as_it_was(tenant, reload):
    reload({SECTIONS: BASE + DESK, PROVIDERS: ROOM + PROVIDER + ON_DESK})
    assert tenant.errors == []
    reload({PROVIDERS: ROOM.replace('region:', 'regoin:').replace(
        '100', '2') + PROVIDER + ON_DESK})
    assert tenant.errors
    room = reload({SECTIONS: BASE.replace('80', '8') + DESK}).room
    assert room.region == 'region-1'
    # Its parent is the operator's.
    assert getSectionLimits(room) == {'instances': 100, 'cores': 8}
    reload({SECTIONS: DESK})
    assert 'room' not in tenant.layout.providers


def test_objects_of_the_same_project_stay_as_they_were(tenant, reload):
    own = '''
- image: {name: mine, type: cloud, username: me, description: Of mine.}
- flavor: {name: tiny, instance-type: t3.tiny}
- label: {name: mine, image: mine, flavor: tiny, tags: {a: b}, min-ready: 2}
'''
    provider = PROVIDER.replace(
        'labels: [', 'images: [{name: mine, image-id: ami-9}]\n'
        '    flavors: [tiny]\n    labels: [mine, ')
    room = reload({LABELS: FILES[LABELS] + own, PROVIDERS: provider}).room
    assert tenant.errors == []
    hashes = {label.config_hash for label in room.labels.values()}
    reload({LABELS: FILES[LABELS] + own.replace(
        'username: me', 'usrname: me').replace('min-ready: 2',
                                               'min-ready: 3')})
    room = reload(alter('instances: 100', 'instances: 3')).room
    assert getSectionLimits(room)['instances'] == 3
    assert room.images['mine'].username == 'me'
    assert room.labels['mine'].min_ready == 2
    assert {label.config_hash for label in room.labels.values()} == hashes


def test_lists_that_replace_those_of_the_section_still_do(reload):
    sections = FILES[SECTIONS].replace(
        'images: [{', 'images: [{name: more, image-id: ami-7}, {')
    reload({CENTRAL: FILES[CENTRAL] + '- image: {name: more, type: cloud}\n',
            SECTIONS: sections,
            PROVIDERS: PROVIDER + '    images: {replace: [debian]}\n'})
    reload({PROVIDERS: TYPOS['attribute'][PROVIDERS]})
    room = reload(alter('ami-1', 'ami-2', sections)).room
    assert [*room.images] == ['debian']
    assert room.images['debian'].image_id == 'ami-2'


@pytest.mark.parametrize('age', [
    lambda own: own.pop('own-part'),
    lambda own: own['own-part']['stanzas'][0]['stanza'].update(section=3),
    lambda own: own['own-part'].update(more=3),
], ids=['without stanzas', 'invalid stanza', 'unknown key'])
def test_records_of_other_releases_are_read(tenant, reload, zk_client, age):
    """Some have nothing but the flat configuration."""
    for provider in tenant.layout.providers.values():
        path = providerrecords.getPath('tenant', provider.canonical_name)
        record = providerrecords.read(
            zk_client.client, 'tenant', provider.canonical_name)
        for label in record['config']['labels']:
            age(label['zuul_nodes'])
        with BufferedShardWriter(zk_client.client, path) as stream:
            stream.write(b'\0' + zlib.compress(json.dumps(record).encode()))
    change(tenant, *next(iter(TYPOS['attribute'].items())))
    found = reload(alter('198.51.100.2', '198.51.100.99', alter(
        'instances: 100', 'instances: 3')[SECTIONS]))
    assert tenant.errors
    assert getSectionLimits(found.room) == {'instances': 3, 'cores': 80}
    assert found.room.labels['debian'].key_name == 'mine'
    assert [node.name for node in found.desk.nodes.values()] == [
        '198.51.100.1', '198.51.100.99']
    reload({SECTIONS: '[]'})
    assert tenant.layout.providers == {}
