"""Why a node has its attributes."""

import configparser
import json

import pytest

from tests.fixtures.layout import makeConnections, makeLayout
from tests.fixtures.programs import getRefusal, writeConf
from zuul_nodes.cmd.common.choice import choose
from zuul_nodes.cmd.explain.explanation import Explained, countMerged, shorten
from zuul_nodes.configloader.plain import Replacement
from zuul_nodes.exceptions import UserError

ZUUL_CONF = '[connection cloud]\ndriver=aws\n'
NODES = '''\
- image:
    name: debian
    type: cloud
    username: debian
    tags: {system: debian, level: image}

- flavor:
    name: small
    instance-type: t3.small

- label:
    name: node
    image: debian
    flavor: small
    boot-timeout: 100
    description: A node.

- section:
    name: base
    abstract: true
    connection: cloud
    boot-timeout: 200
    label-defaults:
      volume-size: 10
    images:
      - name: debian
        image-id: ami-1
        username: admin

- section:
    name: desk
    parent: base
    region: here
    boot-timeout: 300
    tags: {owner: desk}
    flavors: [small]

- provider:
    name: desk
    section: desk
    labels:
      - name: node
        tags: {level: provider}
'''
PROJECT = 'example.com/nodes, branch main'


def makeTenant(text=NODES, name='tenant'):
    layout = makeLayout(text)
    layout.tenant.layout = layout
    layout.tenant.name = name
    return layout.tenant


def explained(tenant, provider='desk', label='node'):
    config = configparser.ConfigParser()
    config.read_string(ZUUL_CONF)
    return Explained(tenant, makeConnections(config), provider, label)


def getRows(text):
    """:return: attribute -> what the other columns of the table say."""
    rows = {}
    for line in text.splitlines():
        if line.startswith('+'):
            cells = None
        elif line.startswith('|'):
            name, *texts = (cell.strip() for cell in line[1:-1].split('|'))
            if cells is None:
                cells = rows[name] = [''] * len(texts)
            cells[:] = [f'{cell} {text}'.strip() for cell, text
                        in zip(cells, texts, strict=True)]
    return rows


def test_table():
    text = explained(makeTenant()).getText()
    assert all(len(line) <= 120 for line in text.splitlines())
    assert text.splitlines()[:8] == [
        'Tenant:   tenant',
        'Provider: desk',
        'Section:  desk -> base',
        'Label:    node',
        'Image:    debian',
        'Flavor:   small',
        'Driver:   aws',
        f'Project:  {PROJECT}']
    rows = getRows(text)
    assert rows['boot-timeout'] == [
        '300', 'section "desk" zuul.d/nodes.yaml:30',
        '200 section "base" zuul.d/nodes.yaml:18 '
        '100 label "node" zuul.d/nodes.yaml:11']
    assert rows['username'] == [
        'admin',
        'image "debian" within section "base" zuul.d/nodes.yaml:26',
        'debian image "debian" zuul.d/nodes.yaml:1']
    assert rows['volume-size'] == [
        '10', 'label-defaults of section "base" zuul.d/nodes.yaml:24', '']
    assert rows['tags'] == [
        '{system: debian, level: provider, owner: desk}',
        'merged from '
        '{level: provider} label "node" within provider "desk" '
        'zuul.d/nodes.yaml:42 '
        '{owner: desk} section "desk" zuul.d/nodes.yaml:30 '
        '{system: debian, level: image} image "debian" zuul.d/nodes.yaml:1',
        '']
    # What names the parts stands above the table.
    assert not {'name', 'section', 'parent', 'abstract'} & rows.keys()


def test_priority():
    rows = getRows(explained(makeTenant(NODES.replace(
        'abstract: true', 'abstract: true\n    priority: 5').replace(
            'section: desk', 'section: desk\n    priority: 3'))).getText())
    assert rows['priority'] == [
        '3', 'provider "desk" zuul.d/nodes.yaml:39',
        '5 section "base" zuul.d/nodes.yaml:18']


def test_data_can_be_written_as_json():
    data = {item['attribute']: item
            for item in explained(makeTenant()).getData()}
    assert data == json.loads(json.dumps(data))
    assert data['boot-timeout'] == {
        'attribute': 'boot-timeout', 'value': 300, 'settings': [{
            'level': level, 'kind': kind, 'name': name,
            'project': 'example.com/nodes', 'branch': 'main',
            'file': 'zuul.d/nodes.yaml', 'line': line, 'value': value,
        } for level, kind, name, line, value in (
            ('label', 'label', 'node', 11, 100),
            ('section', 'section', 'base', 18, 200),
            ('section', 'section', 'desk', 30, 300))]}
    assert [(setting['level'], setting['kind'])
            for setting in data['tags']['settings']] == [
        ('image', 'image'), ('section', 'section'),
        ('label in provider', 'provider')]


def test_several_projects():
    tenant = makeTenant()
    context = tenant.layout.images['debian'].source_context.copy()
    context.project_canonical_name = 'example.com/images'
    tenant.layout.images['debian'].source_context = context
    text = explained(tenant).getText()
    assert 'Project:' not in text
    rows = getRows(text)
    assert PROJECT in rows['username'][1]
    assert 'example.com/images, branch main' in rows['username'][2]


def test_attribute_by_another_name():
    tenant = makeTenant(NODES.replace('instance-type', 'flavor-name'))
    rows = getRows(explained(tenant).getText())
    assert rows['instance-type'][1] == (
        'flavor "small" zuul.d/nodes.yaml:7')


@pytest.mark.parametrize('provider, label, expected', [
    ('dask', 'node', 'the tenant "tenant" has no provider "dask". '
                     'Did you mean "desk"?'),
    ('desk', 'mode', 'does not have the label "mode". '
                     'Did you mean "node"?'),
])
def test_unknown_names_are_refused_with_suggestions(provider, label, expected):
    with pytest.raises(UserError) as caught:
        explained(makeTenant(), provider, label)
    assert expected in str(caught.value)
    assert '\n' not in str(caught.value)


def test_provider_that_does_not_fit_together():
    tenant = makeTenant(NODES.replace('parent: base', 'parent: bass'))
    with pytest.raises(UserError, match='Did you mean "base"'):
        explained(tenant)


@pytest.mark.parametrize('error', [
    'The problem appears in the "desk" provider stanza:\n\n  - provider:',
    'The problem appears in the "labels" attribute\n'
    'of the "desk" provider stanza:',
])
def test_provider_in_error(error):
    # Zuul says what it is, be the stanza in the layout or not.
    layout = makeTenant().layout
    provider_config = layout.provider_configs['desk']
    layout.loading_errors.makeError(
        provider_config.source_context, provider_config.start_mark,
        f'Zuul encountered an error.\n\n{error}', 'It is\n  wrong')
    for _ in range(2):
        with pytest.raises(UserError) as caught:
            explained(layout.tenant)
        assert str(caught.value) == (
            'the provider "desk" of the tenant "tenant" is in error: It is '
            'wrong (project example.com/nodes, branch main, file '
            'zuul.d/nodes.yaml, line 38)')
        assert choose([layout.tenant], 'desk') is layout.tenant
        layout.provider_configs.pop('desk', None)


def test_other_provider_in_error():
    layout = makeTenant().layout
    layout.loading_errors.makeError(
        None, None, 'The problem appears in the "other" provider stanza:')
    assert explained(layout.tenant).getData()


def test_choice_of_tenant():
    one, other = makeTenant(name='one'), makeTenant(name='other')
    empty = makeTenant('[]', 'empty')
    assert choose([empty, one], 'desk') is one
    with pytest.raises(UserError, match=r'one, other\. Choose .* --tenant'):
        choose([one, empty, other], 'desk')
    with pytest.raises(UserError, match='Did you mean "desk"'):
        choose([one, empty, other], 'dask')


@pytest.mark.parametrize('values, count', [
    ([1, 2], 1),
    ([[1], [2], [3]], 3),
    ([{1: 1}, {2: 2}, None, {3: 3}], 2),
    ([{1: 1}, [2]], 1),
    ([None, [2]], 1),
    ([Replacement([1]), [2]], 1),
    ([[1], Replacement([2]), [3]], 2),
])
def test_merged_values_are_counted(values, count):
    assert countMerged(values) == count


@pytest.mark.parametrize('value, expected', [
    ('true', "'true'"),
    (True, 'true'),
    (None, 'null'),
    ([1, {'a': 'b c'}], '[1, {a: b c}]'),
    ('grün', 'grün'),
    ('a\nb', '"a\\nb"'),
    ('x' * 30, 'x' * 16 + ' ...'),
])
def test_shorten(value, expected):
    assert shorten(value, 20) == expected


def test_same_value_twice():
    twice = [1]
    assert shorten([twice, twice], 20) == '[[1], [1]]'


def run(zuulNodes, config, tmp_path, *arguments):
    return zuulNodes('explain', '-c', writeConf(
        config, tmp_path / 'zuul.conf'), *arguments, 'local', 'label')


def test_no_scheduler_has_run(zuulNodes, zuul_conf, tmp_path, empty_client):
    line = getRefusal(run(zuulNodes, zuul_conf, tmp_path))
    assert line.startswith('zuul-nodes explain: ZooKeeper at ')
    assert 'no scheduler has run there yet' in line
    assert empty_client.get_children('/') == []


def test_zookeeper_not_reachable(zuulNodes, zuul_conf, tmp_path):
    zuul_conf.set('zookeeper', 'hosts', '127.0.0.1:1')
    result = run(zuulNodes, zuul_conf, tmp_path)
    assert (result.returncode, result.stdout) == (1, '')
    progress, line = result.stderr.splitlines()
    assert progress == 'Connecting to ZooKeeper ...'
    assert 'ZooKeeper does not answer at 127.0.0.1:1 within 4 s' in line


def test_bad_zuul_conf(zuulNodes, zuul_conf, tmp_path):
    zuul_conf.read_dict({'connection cloud': {'driver': 'clod'}})
    line = getRefusal(run(zuulNodes, zuul_conf, tmp_path))
    assert 'zuul.conf: Unknown driver, clod' in line
    zuul_conf.remove_option('zookeeper', 'hosts')
    line = getRefusal(run(zuulNodes, zuul_conf, tmp_path))
    assert 'has no "hosts" in [zookeeper]' in line


@pytest.mark.parametrize('timeout', ['0', '-1', 'inf', 'nan', 'soon'])
def test_bad_timeout(zuulNodes, timeout):
    result = zuulNodes('explain', '--timeout', timeout, 'local', 'label')
    assert result.returncode == 2


def test_explain_refuses_when_the_plugin_is_switched_off(
        zuulNodes, zuul_conf, tmp_path):
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')
    line = getRefusal(zuulNodes('explain', '-c', path, 'local', 'label',
                                ZUUL_NODES_DISABLE='1'))
    assert 'the plugin cannot be used here' in line
