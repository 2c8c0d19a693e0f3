"""Images that the launcher uploads."""

import contextlib
import logging

import pytest

from tests.emulators.azure.disks import COOKIE, PAGE
from zuul_nodes.drivers import DriverError, PermanentError, TemporaryError
from zuul_nodes.drivers.azure import client

VHD = b'disk' * PAGE + bytes(8 * PAGE) + COOKIE.ljust(PAGE, b'\0')
TAGS = {'zuul_system_id': 'system', 'zuul_upload_uuid': 'f' * 32}


@pytest.fixture(autouse=True)
def small(azure, monkeypatch):
    azure.disks.smallest = PAGE
    monkeypatch.setattr(client, 'LOOK', 0.01)


@pytest.fixture
def run(site, tmp_path):
    """:return: a function that uploads an image."""
    def run(data=VHD, name='built', tags=None):
        path = tmp_path / 'disk'
        path.write_bytes(data)
        job = site.provider.getImageUploadJob(
            site.provider.images['built'], f'{name}-{"f" * 32}', 'vhd',
            tags or TAGS, None, None)
        job.part_size = 2 * PAGE
        return job.run(str(path))
    return run


def test_upload(site, azure, run):
    image_id = run()
    assert azure.images.contents == {image_id.lower(): VHD}
    image = azure.images.get(image_id)
    assert image['tags'] == TAGS
    assert image['properties']['storageProfile']['zoneResilient']
    azure.finish(image['name'])
    assert site.left == [image_id]
    node = site.create(site.makeNode(), image_id)
    assert node.interface_ip
    site.delete(node)
    for _ in range(2):
        site.provider.deleteImage(image_id)
    site.provider.deleteImage(None)
    azure.finish(image['name'])
    assert not site.left


def test_what_is_empty_is_not_sent(azure, run):
    run()
    sent = sum('/md-impexp' in path for _, path in azure.calls)
    assert 0 < sent < len(VHD) / (2 * PAGE)


@pytest.mark.parametrize('name', [
    'x' * 250, 'Debian 12, büro', 'debian:12', '\N{PILE OF POO}'])
def test_any_name(azure, run, name):
    image_id = run(name=name, tags=TAGS | {'of/a': 'é' * 300})
    assert len(azure.images.get(image_id)['name']) <= 80


@pytest.mark.parametrize('data', [b'', VHD + b'x'])
def test_no_vhd(run, data):
    with pytest.raises(PermanentError, match='multiple of 512'):
        run(data)


@pytest.mark.parametrize(('method', 'path'), [
    ('PUT', '.*/disks/.*'), ('POST', '.*/beginGetAccess'),
    ('POST', '.*/endGetAccess'), ('PUT', '.*/images/built.*')])
@pytest.mark.parametrize('acts', [True, False])
def test_nothing_is_left_of_a_failure(site, azure, run, method, path, acts):
    azure.inject(method, path, 500, acts=acts)
    with pytest.raises(TemporaryError):
        run()
    # As the launcher cleans up, again and again.
    for _ in range(5):
        for each in site.endpoint.listResources([site.provider]):
            if each.metadata.get('zuul_upload_uuid'):
                with contextlib.suppress(TemporaryError):
                    site.endpoint.deleteResource(each)
    assert not site.left


@pytest.mark.parametrize('kind', ['disks.create', 'images.create'])
def test_operation_that_fails_says_why(site, azure, run, kind):
    azure.fail(kind, 'QuotaExceeded', 'Too many')
    with pytest.raises(DriverError, match=r'Too many \(QuotaExceeded\)'):
        run()


def test_part_is_sent_again(azure, run):
    azure.inject('PUT', '/md-impexp.*', 503)
    azure.inject('PUT', '/md-impexp.*')
    image_id = run()
    assert azure.images.contents == {image_id.lower(): VHD}


def test_import_timeout(site, azure, run):
    site.provider.images['built'].import_timeout = 0
    azure.operations.polls['disks.create'] = None
    with pytest.raises(DriverError, match=(
            'not completed the operation in time')):
        run()


def test_launcher_stops(site, azure, run):
    site.endpoint.stopping.set()
    with pytest.raises(DriverError, match='launcher stops'):
        run()


def test_signatures_are_not_logged(azure, run, caplog):
    caplog.set_level(logging.DEBUG)
    azure.inject('PUT', '/md-impexp.*', 403)
    with pytest.raises(DriverError) as info:
        run()
    assert 'sig=' not in str(info.value)
    # What libraries log is up to the operator's configuration.
    assert not [record for record in caplog.records
                if 'sig=' in record.getMessage()
                and not record.name.startswith('urllib3')]
