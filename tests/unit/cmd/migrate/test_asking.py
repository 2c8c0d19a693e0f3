"""``zuul-nodes migrate --check`` asks clouds about what it has written."""

import json

import pytest

from tests.unit.drivers.openstack.nodesites import addImage

SITE = '''
labels: [{name: l}]
providers:
  - name: p
    cloud: emulator
    rate: 0.001
    cloud-images: [{name: debian-12}]
    pools:
      - name: main
        networks: [NETWORK]
        labels:
          - {name: l, cloud-image: debian-12, min-ram: 1024, key-name: zuul}
'''
MISSING = 'ami-00000000000000000'
AWS = f'''
providers:
  - name: p
    driver: aws
    region-name: us-east-1
    cloud-images:
      - name: i
        image-filters: [{{name: name, values: [debian-12]}}]
      - {{name: none, image-id: {MISSING}}}
    pools:
      - name: main
        labels:
          - {{name: l, cloud-image: i, instance-type: t3.small}}
          - {{name: m, cloud-image: none, instance-type: t3.smal}}
'''


@pytest.fixture
def ask(zuulNodes, tmp_path):
    """:return: a function that converts a text and asks, and gives the exit
        status and the answers: (what, name) -> (problem, found)."""
    def run(text, *arguments, **environ):
        path = tmp_path / 'nodepool.yaml'
        path.write_text(text)
        result = zuulNodes(
            'migrate', path, '--output', tmp_path / 'out', '--check',
            '--format', 'json', *arguments, **environ)
        assert (tmp_path / 'out' / 'MIGRATION.md').exists(), result.stderr
        return result.returncode, {
            (each['what'], each['name']): (each['problem'], each['found'])
            for each in json.loads(result.stdout)}
    return run


def test_openstack(ask, openstack, tmp_path):
    clouds = openstack.writeConfig(tmp_path / 'clouds.yaml')
    status, answers = ask(
        SITE.replace('NETWORK', 'private'), '--clouds', clouds)
    assert (status, answers) == (0, {
        ('flavor', '1024 MiB'): ('', 'm1.small'),
        ('image', 'debian-12'): ('', 'debian-12 (new)')})


def test_what_openstack_lacks(ask, openstack, tmp_path):
    clouds = openstack.writeConfig(tmp_path / 'clouds.yaml')
    status, answers = ask(SITE.replace('NETWORK', 'privat').replace(
        '1024', '999999'), '--clouds', clouds)
    assert status == 1
    assert 'Did you mean "private"?' in answers['network', 'privat'][0]
    assert 'with 999999 MiB' in answers['flavor', '999999 MiB'][0]


def test_connections_of_another_zuul_conf(ask, openstack, tmp_path):
    addImage(openstack, 'newer', '2026-01-01T00:00:00Z')
    clouds = openstack.writeConfig(tmp_path / 'clouds.yaml', 'other')
    conf = tmp_path / 'zuul.conf'
    conf.write_text(f'[connection emulator]\ndriver = openstack\n'
                    f'cloud = other\nclient_config_file = {clouds}\n')
    status, answers = ask(SITE.replace('NETWORK', 'private'), '-c', conf)
    assert status == 0
    assert answers['image', 'debian-12'] == ('', 'debian-12 (newer)')


def test_aws(ask, aws_server):
    aws_server.reset()
    image_id = aws_server.ec2.register_image(Name='debian-12')['ImageId']
    status, answers = ask(
        AWS, AWS_ENDPOINT_URL=aws_server.url, AWS_ACCESS_KEY_ID='zuul',
        AWS_SECRET_ACCESS_KEY='secret')
    assert status == 1
    assert answers['image', 'name debian-12'] == ('', image_id)
    assert 'There is no image' in answers['image', MISSING][0]
    assert 'Did you mean "t3.small"?' in answers['flavor', 't3.smal'][0]


def test_nothing_to_ask(zuulNodes, tmp_path):
    path = tmp_path / 'nodepool.yaml'
    path.write_text('''
providers:
  - name: p
    driver: static
    pools: [{name: main, nodes: [{name: 127.0.0.1, labels: l}]}]
''')
    result = zuulNodes('migrate', path, '--output', tmp_path / 'out',
                       '--check')
    assert result.returncode == 1
    assert 'no provider is in a cloud' in result.stderr
