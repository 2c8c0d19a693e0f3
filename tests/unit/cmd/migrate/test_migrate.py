"""What the converter makes of single attributes, secrets and bad input."""


import pytest
import yaml

from tests.fixtures.migration import EXAMPLES, IMAGES, convert, makeSite
from zuul_nodes.cmd import main


def getProvider(converted):
    provider, = converted.load().providers.values()
    return provider


@pytest.mark.parametrize('rate, calls', [
    ('rate: 0.001', '1000'), ('rate: 0.25', '4'), ('rate: 10.0', '0.1'),
    ('', '1')])
def test_rate_of_openstack_is_inverse(tmp_path, rate, calls):
    converted = convert(tmp_path, makeSite(rate))
    assert converted.config['connection c']['rate'] == calls


def test_defaults_of_nodepool_are_written(tmp_path):
    provider = getProvider(convert(tmp_path, makeSite()))
    assert provider.labels['l'].boot_timeout == 60
    assert provider.images['i'].config_drive is False


def test_networks_of_a_label_replace_those_of_the_pool(tmp_path):
    provider = getProvider(convert(tmp_path, makeSite(
        pool='networks: [a, b]', label='networks: [c]')))
    assert provider.labels['l'].networks == ['c']


def test_volume_to_boot_from_has_50_gib(tmp_path):
    provider = getProvider(convert(tmp_path, makeSite(
        label='boot-from-volume: true')))
    assert provider.labels['l'].volume_size == 50


def test_disabled_pool_has_limit_0(tmp_path):
    converted = convert(tmp_path, makeSite(pool='max-servers: -1'))
    assert getProvider(converted).resource_limits == {'instances': 0}
    assert 'The pool is disabled' in converted.report


def test_disabled_label_is_left_out(tmp_path):
    converted = convert(tmp_path, makeSite(
        labels='{name: l, min-ready: -1}'))
    assert converted.get('label') == {}
    assert 'nodepool.yaml:2' in converted.report
    converted.load()


def test_node_attributes(tmp_path):
    converted = convert(tmp_path, makeSite(
        pool='node-attributes: {executor-zone: z, mirror: m, "b ad": x}'))
    provider, = converted.get('provider').values()
    assert provider['node-attributes'] == {'mirror': 'm'}
    assert provider['label-defaults']['executor-zone'] == 'z'
    assert '"b ad"' in converted.report
    converted.load()


def test_tenant_resource_limits_are_for_a_person(tmp_path):
    converted = convert(tmp_path, makeSite() + '''
tenant-resource-limits: [{tenant-name: t, max-servers: 1, L-1216C47A: 8}]
''')
    decide = converted.report.partition('## Changed')[0]
    assert '"tenant-resource-limits"' in decide
    assert '"tenant_limits = t=instances:1, t=L-1216C47A:8"' in ' '.join(
        decide.split())


def test_metastatic_labels_have_slots(tmp_path):
    converted = convert(tmp_path, makeSite() + '''
  - name: meta
    driver: metastatic
    pools:
      - name: main
        labels:
          - {name: small, backing-label: l, max-parallel-jobs: 4}
''')
    provider = getProvider(converted)
    label = converted.get('label')['small']
    assert (label['slots'], label['reuse'], label['max-ready-age']) == (
        4, True, 60)
    assert provider.labels['small'].flavor == provider.labels['l'].flavor
    assert provider.labels['small'].host_key_checking is False


def test_aws_nodes_have_public_addresses(tmp_path):
    provider = getProvider(convert(tmp_path, '''
providers:
  - name: p
    driver: aws
    region-name: r
    max-cores: 8
    cloud-images: [{name: i, image-id: ami-1, username: u}]
    pools:
      - name: main
        labels: [{name: l, cloud-image: i, instance-type: t, key-name: k}]
'''))
    assert provider.flavors['t'].public_ipv4 is True
    assert provider.labels['l'].boot_timeout == 180
    assert provider.resource_limits == {'cores': 8}


@pytest.mark.parametrize('driver, attributes, label', [
    ('azure', 'location: l, resource-group: g, resource-group-location: l, '
     'network: n, cloud-images: [{name: i, username: u, image-reference: '
     '{sku: s, publisher: p, offer: o, version: v}}]',
     'cloud-image: i, hardware-profile: {vm-size: v}'),
    ('gce', 'project: x, region: r, zone: r-a, cloud-images: '
     '[{name: i, username: u, image-family: x, image-project: y}]',
     'cloud-image: i, instance-type: e2-small'),
    ('kubernetes', 'context: x', 'type: pod, image: docker.io/x, cpu: 2'),
    ('openshift', 'context: x', 'type: project'),
    ('openshiftpods', 'context: x, max-pods: 3', 'image: docker.io/x'),
])
def test_drivers(tmp_path, driver, attributes, label):
    converted = convert(tmp_path, f'''
providers:
  - {{name: p, driver: {driver}, {attributes}, pools: [
      {{name: ci, max-servers: 2, labels: [{{name: l, {label}}}]}}]}}
''')
    provider = getProvider(converted)
    assert list(provider.labels) == ['l']
    assert 2 in provider.resource_limits.values()
    if driver == 'openshiftpods':
        assert provider.labels['l'].namespace == 'ci'
        assert '"max-pods": it takes effect' in converted.report


@pytest.mark.parametrize('image, pool', [
    ('image-id: none', ''),
    ('shared-gallery-image: {gallery-name: a/b, name: c}', ''),
    ('image-filter: {name: x}', 'subnet-id: none')])
def test_rules_of_a_driver_beyond_single_attributes(tmp_path, image, pool):
    converted = convert(tmp_path, f'''
providers:
  - name: p
    driver: azure
    location: l
    resource-group: g
    {pool or 'network: n'}
    cloud-images: [{{name: i, username: u, {image}}}]
    pools:
      - name: main
        labels: [{{name: l, cloud-image: i, hardware-profile: {{vm-size: v}}}}]
''')
    decide = ' '.join(
        converted.report.partition('## Changed')[0].split())
    left_out = (pool or image).partition(':')[0]
    assert f'"{left_out}" is left out, for "{left_out}" does not take its ' \
        f'value: expected the' in decide
    # What is missing then is said, too.
    assert 'The provider does not load: ' in decide


@pytest.mark.parametrize('driver, size', [
    ('azure', 'vm-size'), ('aws', 'instance-type'),
    ('openstack', 'flavor-name')])
def test_label_without_a_size(tmp_path, driver, size):
    converted = convert(tmp_path, f'''
providers:
  - name: p
    driver: {driver}
    cloud-images: [{{name: i}}]
    pools: [{{name: main, labels: [{{name: l, cloud-image: i}}]}}]
''')
    flavor, = converted.get('section')['p']['flavors']
    assert flavor[size] == 'REPLACE_ME_FLAVOR'


def test_connection_without_what_it_needs(tmp_path):
    converted = convert(tmp_path, '''
providers: [{name: p, driver: gce, region: r, pools: []}]
''')
    assert 'The connection "gce" is not complete: ' in converted.report


def test_abstract_flavors_have_sizes_of_each_pool(tmp_path):
    converted = convert(tmp_path, '\n'.join((
        makeSite(), makeSite().partition('providers:')[2].replace(
            'name: p', 'name: q').replace('flavor-name: f',
                                          'min-ram: 8000'))))
    assert list(converted.get('flavor')) == ['8gb']
    loaded = converted.load().providers
    assert loaded['p'].flavors['8gb'].flavor_name == 'f'
    assert loaded['q'].flavors['8gb'].min_ram == 8000


def test_disk_image_becomes_jobs(tmp_path):
    converted = convert(tmp_path, IMAGES.replace(
        ', REGISTRY_PASSWORD: hunter22', ''))
    job = converted.get('job')['build-image-debian']
    assert job['vars'] == {
        'zuul_nodes_elements': ['vm', 'debian-minimal'],
        'zuul_nodes_dib_environment': {
            'DIB_RELEASE': '12', 'A': '1', 'B': '2'}}
    assert converted.get('pipeline')['image-rebuild-weekly']['trigger'] == {
        'timer': [{'time': '0 3 * * 0'}]}
    project = next(stanza['project'] for stanza in converted.getAll()
                   if 'project' in stanza)
    for pipeline in ('image-build', 'image-rebuild-weekly'):
        assert project[pipeline] == {'jobs': ['build-image-debian']}
    assert converted.get('tenant')['example']['max-job-timeout'] == 28800


def test_secrets_become_placeholders(tmp_path, capsys):
    secure = tmp_path / 'secure.conf'
    secure.write_text('diskimages: [{name: debian, env-vars: '
                      '{TWO: topsecret2}}]\n')
    site = IMAGES + '''
    # password: commented3
    pools:
      - name: main
        labels:
          - name: l
            diskimage: debian
            flavor-name: f
            userdata: 'x topsecret2 https://a:inurl4@example.com'
            instance-properties: {v: '%(NODEPOOL_TOKEN)'}
'''
    converted = convert(
        tmp_path, site, arguments=[
            '--secure', str(secure), '--env', 'NODEPOOL_TOKEN=fromenv5'])
    text = converted.getText() + ''.join(capsys.readouterr())
    for secret in ('hunter22', 'topsecret2', 'commented3', 'inurl4',
                   'fromenv5'):
        assert secret not in text
    data = converted.get('secret')['environment_of_debian']['data']
    assert data['B'] == '2'
    for name in ('REGISTRY_PASSWORD', 'TWO'):
        assert data[name] == f'REPLACE_ME_{name}'
        assert f'`REPLACE_ME_{name}`' in converted.report
    converted.load()


def test_comments_move_along_once(tmp_path):
    converted = convert(tmp_path, EXAMPLES / 'nodepool.yaml')
    assert converted.read('nodes/zuul.d/labels.yaml').count(
        '    # Jobs of all projects wait for these.\n    min-ready: 2\n') == 1
    assert converted.getText().count('# Jobs of all projects') == 1


def test_example_of_the_documentation(tmp_path):
    converted = convert(tmp_path, EXAMPLES / 'nodepool.yaml').load()
    expected = '\n'.join(converted.read(f'nodes/zuul.d/{name}.yaml')
                         for name in ('sections', 'providers'))
    assert (EXAMPLES / 'migrated.yaml').read_text() == expected


BAD = {
    'no YAML': ('a: [', 'is not valid YAML'),
    'a list': ('[1]', 'contains a list'),
    'an unknown driver': (makeSite('driver: opnstack'),
                          'Did you mean "openstack"?'),
    'the same provider twice': (
        makeSite() + makeSite().partition('providers:')[2], 'a second time'),
    'an unresolved variable': (makeSite('region-name: "%(NODEPOOL_R)"'),
                               '--env NODEPOOL_R=VALUE'),
    'a template': (makeSite('region-name: "{{ region }}"'), 'Jinja2'),
    'a value of the wrong type': (
        makeSite('diskimages: 5'), 'must be a list'),
    'an alias in itself': ('providers: &a [*a]', 'too many values'),
}


@pytest.mark.parametrize('case', BAD)
def test_bad_input_is_one_line(case, tmp_path, capsys):
    text, words = BAD[case]
    path = tmp_path / 'nodepool.yaml'
    path.write_text(text)
    output = tmp_path / 'out'
    assert main(['migrate', str(path), '--output', str(output)]) == 1
    message = capsys.readouterr().err
    assert words in message
    assert message.count('\n') == 1
    assert [each.name for each in tmp_path.iterdir()] == ['nodepool.yaml']


def test_providers_of_two_files_that_differ(tmp_path, capsys):
    paths = []
    for number, cloud in enumerate('cd'):
        paths.append(tmp_path / f'{number}.yaml')
        paths[-1].write_text(makeSite().replace('cloud: c', f'cloud: {cloud}'))
    assert main(['migrate', *map(str, paths), '--output',
                 str(tmp_path / 'out')]) == 1
    assert '1.yaml:4 defines the provider "p", which 0.yaml:4' in (
        capsys.readouterr().err)


def test_existing_output_is_kept_without_force(tmp_path, capsys):
    converted = convert(tmp_path, makeSite())
    (converted.path / 'own.txt').write_text('own')
    (converted.path / 'MIGRATION.md').write_text('changed')
    arguments = ['migrate', str(tmp_path / 'nodepool.yaml'), '--output',
                 str(converted.path)]
    assert main(arguments) == 1
    assert '--force' in capsys.readouterr().err
    assert (converted.path / 'MIGRATION.md').read_text() == 'changed'
    assert main([*arguments, '--force']) == 0
    assert (converted.path / 'MIGRATION.md').read_text() == converted.report
    assert (converted.path / 'own.txt').read_text() == 'own'


def test_unwritable_output(tmp_path, capsys):
    (tmp_path / 'file').write_text('')
    (tmp_path / 'n.yaml').write_text(makeSite())
    assert main(['migrate', str(tmp_path / 'n.yaml'), '--output',
                 str(tmp_path / 'file' / 'out')]) == 1
    assert capsys.readouterr().err.count('\n') == 1


def test_all_files_are_yaml(tmp_path):
    converted = convert(tmp_path, IMAGES)
    for path in converted.path.rglob('*.yaml'):
        assert yaml.safe_load(path.read_text())
