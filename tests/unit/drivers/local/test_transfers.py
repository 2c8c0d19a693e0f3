"""Images that come from elsewhere: imports, uploads and snapshots."""

import gzip
import hashlib
import os
import types

import pytest
from zuul.launcher.uploadplanner import UploadPlanner

from tests.unit.drivers.local.sites import TAGS, ssh
from zuul_nodes.drivers import DriverError

UPLOAD = 'fedcba9876543210fedcba9876543210'
NODE = '0123456789abcdef0123456789abcdef'


class Upload(types.SimpleNamespace):
    __hash__ = object.__hash__


@pytest.fixture
def site(makeSite):
    return makeSite(type='zuul')


def getImport(site, url, sha256=None, md5=None, format='tar'):
    image = site.provider.images['debian']
    return site.provider.getImageImportJob(
        url, image, 'debian', format, {**TAGS, 'zuul_upload_uuid': UPLOAD},
        md5, sha256)


def getUpload(site):
    image = site.provider.images['debian']
    return site.provider.getImageUploadJob(
        image, 'debian', 'tar', {**TAGS, 'zuul_upload_uuid': UPLOAD}, None,
        None)


def test_format(site, makeSite):
    assert site.provider.images['debian'].format == 'tar'
    other = makeSite(type='zuul', image_format='snapshot')
    assert other.provider.images['debian'].format == 'snapshot'
    assert makeSite().provider.images['debian'].format is None


def test_upload(site, archive, key):
    external_id = getUpload(site).run(os.fspath(archive))
    resource, = site.endpoint.listResources([])
    assert (resource.type, resource.metadata) == (
        'image', {**TAGS, 'zuul_upload_uuid': UPLOAD})
    node = site.makeNode(NODE)
    instance = site.create(node, external_id)
    site.provider.deleteImage(external_id)
    site.provider.deleteImage(external_id)
    # What has failed has no image.
    site.provider.deleteImage(None)
    assert not site.images.entries.names()
    # Nodes have copies.
    assert ssh(key, instance, 'id -un').stdout == 'zuul\n'


@pytest.mark.parametrize(('url', 'kind'), [
    ('file://{}', 'import'), ('https://example.com{}', 'upload')])
def test_zuul_plans_it(site, archive, url, kind):
    image = site.provider.images['debian']
    upload = Upload(
        uuid=UPLOAD, providers=['here'], external_id=None,
        canonical_name=image.canonical_name, config_hash='hash')
    planner = UploadPlanner(
        types.SimpleNamespace(
            system=types.SimpleNamespace(system_id='system'),
            _getProviderByCanonicalName=lambda name: site.provider),
        types.SimpleNamespace(url=url.format(archive), format='tar',
                              md5sum=None, sha256=None), [upload], [upload])
    planner.plan()
    (planned, job), = (planner.import_jobs if kind == 'import'
                       else planner.upload_jobs)
    assert planned is upload
    path = [os.fspath(archive)] if kind == 'upload' else []
    assert job.run(*path) == UPLOAD


@pytest.mark.parametrize('form', ['file://{}', 'file:{}',
                                  'file://localhost{}'])
def test_import(site, archive, form):
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    job = getImport(site, form.format(archive), sha256)
    assert job.dependents == []
    assert site.images.exists(job.run())


def test_import_of_a_name_with_a_space(site, archive, directory):
    (directory / 'import').mkdir()
    target = directory / 'import/an image.tar.gz'
    with gzip.open(target, 'wb', compresslevel=1) as file:
        file.write(archive.read_bytes())
    job = getImport(site, f'file://{directory}/import/an%20image.tar.gz')
    assert site.images.exists(job.run())


@pytest.mark.parametrize('name', ['md5', 'sha256'])
def test_import_of_another_file(site, archive, name):
    job = getImport(site, f'file://{archive}', **{name: '1234'})
    with pytest.raises(DriverError, match=f'The {name} of '):
        job.run()
    assert not site.images.entries.names()


@pytest.mark.parametrize('url', [
    'file:///etc', 'file:///etc/passwd', 'file://{archive}/../../../etc',
    'file://example.com{archive}', 'https://example.com{archive}'])
def test_what_is_not_imported(site, archive, url):
    assert getImport(site, url.format(archive=archive)) is None


@pytest.mark.parametrize('url', [
    'local-snapshot:missing', 'local-snapshot:../nodes/x'])
def test_snapshot_that_there_is_not(site, url):
    assert getImport(site, url, format='snapshot') is None


def test_names_of_snapshots(site):
    with pytest.raises(DriverError):
        getImport(site, 'local-snapshot:snapshot-/../../nodes/x',
                  format='snapshot')


def test_an_image_of_somebody_is_no_snapshot(site, archive):
    """A job may return any URL."""
    image = getImport(site, f'file://{archive}').run()
    assert site.images.exists(image)
    assert getImport(
        site, f'local-snapshot:{image}', format='snapshot') is None


def test_nothing_is_imported_unless_allowed(options, makeSite, archive):
    del options['import_directories']
    assert getImport(makeSite(type='zuul'), f'file://{archive}') is None


def test_snapshot(site, makeSite, archive, key, directory):
    external_id = getUpload(site).run(os.fspath(archive))
    node = site.makeNode(NODE)
    instance = site.create(node, external_id)
    ssh(key, instance, 'echo kept > /home/zuul/file')
    url = site.snapshot(node)
    expired, = (each for each in site.endpoint.listResources([])
                if 'zuul_expiration' in each.metadata)
    site.delete(node)
    site.provider.deleteImage(external_id)
    # Nobody has looked whose it is, unless it is called a snapshot.
    assert getImport(site, url) is None
    # It is an image as any other then.
    external_id = getImport(site, url, format='snapshot').run()
    site.endpoint.deleteResource(expired)
    assert site.images.entries.names() == [external_id]
    node = site.makeNode('1' * 32)
    other = site.create(node, external_id)
    assert other.host_keys != instance.host_keys
    assert ssh(key, other, 'cat file').stdout == 'kept\n'
    site.delete(node)


def test_snapshot_goes_on_after_a_restart(site, makeSite, archive):
    node = site.makeNode(NODE)
    external_id = getUpload(site).run(os.fspath(archive))
    site.create(node, external_id)
    url = site.snapshot(node)
    site.end()
    site = makeSite(type='zuul')
    name = url.removeprefix('local-snapshot:')
    made = site.images.getRoot(name).stat().st_ino
    node = site.makeNode(NODE, create_state=node.create_state)
    assert site.snapshot(node) == url
    assert site.images.getRoot(name).stat().st_ino == made
    assert sorted(site.images.entries.names()) == sorted(
        [name, external_id])
    site.delete(node)
