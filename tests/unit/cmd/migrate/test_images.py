"""What the converter makes of images."""

import pytest

from tests.fixtures.migration import IMAGES, convert, makeSite

ARM = '''
  - name: debian-arm64
    parent: base
    elements: [debian-minimal]
'''
USED_ARM = IMAGES.replace('providers:', f'{ARM}providers:').replace(
    '[{name: debian}]', '[{name: debian}, {name: debian-arm64}]')
# Its name says nothing.
UNNAMED = USED_ARM.replace('debian-arm64', 'a')
CLOUD_IMAGES = '''
    cloud-images: [{name: ubuntu}, {name: IMAGE}]
    pools:
      - name: main
        labels:
          - {name: x86, cloud-image: ubuntu, flavor-name: f}
          - {name: arm, cloud-image: IMAGE, flavor-name: f}
'''


def getBuilder(converted, job):
    node, = converted.get('job')[job]['nodeset']['nodes']
    return node['label']


def getDecisions(converted):
    """:return: the first part of the report, in one line."""
    return ' '.join(converted.report.partition('## Changed')[0].split())


def test_each_architecture_has_a_label_to_build_on(tmp_path):
    converted = convert(tmp_path, USED_ARM + CLOUD_IMAGES.replace(
        'IMAGE', 'ubuntu-aarch64'))
    assert getBuilder(converted, 'build-disk-image') == 'x86'
    assert 'nodeset' not in converted.get('job')['build-image-debian']
    assert getBuilder(converted, 'build-image-debian-arm64') == 'arm'
    assert 'The label "arm" builds the images for arm64' in getDecisions(
        converted)


def test_architecture_without_a_label_to_build_on(tmp_path):
    converted = convert(tmp_path, USED_ARM)
    assert getBuilder(converted, 'build-disk-image') == 'image-builder'
    assert getBuilder(
        converted, 'build-image-debian-arm64') == 'image-builder-arm64'
    assert '"image-builder-arm64", which does not exist' in getDecisions(
        converted)


@pytest.mark.parametrize('attributes', [
    "dib-cmd: disk-image-create -a aarch64", "env-vars: {ARCH: arm64}"])
def test_architecture_of_an_image_without_it_in_its_name(
        tmp_path, attributes):
    text = ARM.replace('debian-arm64', 'a')
    converted = convert(tmp_path, UNNAMED.replace(
        text, f'{text}    {attributes}\n'))
    assert getBuilder(
        converted, 'build-image-a') == 'image-builder-arm64'


def test_architecture_of_an_image_in_aws(tmp_path):
    converted = convert(tmp_path, UNNAMED.replace(
        'cloud: c', 'driver: aws\n    region-name: r').replace(
            '{name: a}', '{name: a, architecture: arm64}'))
    assert getBuilder(
        converted, 'build-image-a') == 'image-builder-arm64'


def test_vhd_for_xen_is_for_a_person(tmp_path):
    converted = convert(tmp_path, IMAGES.replace(
        'release: 12', 'formats: [vhd, qcow2]'))
    assert 'Xen, as at Rackspace, needs the "vhd" of vhd-util' in (
        getDecisions(converted))
    assert 'zuul_nodes_formats' not in converted.get('job')[
        'build-image-debian']['vars']
    converted = convert(tmp_path, IMAGES.replace(
        'release: 12', 'formats: [qcow2]'), arguments=['--force'])
    assert 'vhd-util' not in converted.report


def test_arguments_of_disk_image_create(tmp_path):
    converted = convert(tmp_path, IMAGES.replace(
        'release: 12', 'dib-cmd: disk-image-create --no-tmpfs -x'))
    variables = converted.get('job')['build-image-debian']['vars']
    assert variables['zuul_nodes_dib_arguments'] == ['--no-tmpfs', '-x']
    assert '"dib-cmd"' not in converted.report


def test_another_command_than_disk_image_create(tmp_path):
    converted = convert(tmp_path, IMAGES.replace(
        'release: 12', 'dib-cmd: /opt/build --fast'))
    assert 'zuul_nodes_dib_arguments' not in converted.get('job')[
        'build-image-debian']['vars']
    assert '"dib-cmd": the job runs disk-image-create' in getDecisions(
        converted)


def test_cloud_images_of_two_names_for_one_label(tmp_path):
    other = makeSite().partition('providers:')[2].replace(
        'name: p', 'name: q').replace('name: i', 'name: j').replace(
            'cloud-image: i', 'cloud-image: j')
    converted = convert(tmp_path, makeSite() + other).load()
    name = converted.get('label')['l']['image']
    assert {provider.images[provider.labels['l'].image].image_name
            for provider in converted.providers.values()} == {'i', 'j'}
    assert name in converted.layout.images
    assert f'the image "{name}" stands for all of them' in ' '.join(
        converted.report.split())
