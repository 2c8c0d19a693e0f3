"""Images stored by jobs are what the launcher gets, and go again."""

import hashlib
import os
import pathlib
import subprocess

import boto3
import pytest

from tests.unit.roles.storage import Server, Swift, basic, fetch

pytestmark = pytest.mark.roles

# What the documentation shows: a job without diskimage-builder.
EXAMPLE = (pathlib.Path(__file__).parents[3]
           / 'doc/source/examples/build-playbook.yaml')

SECRET = 'not for the log'
# No whole mebibytes.
DISK = os.urandom(1 << 20) + b'the rest'
ROUNDED = DISK.ljust(2 << 20, b'\0')


@pytest.fixture(autouse=True)
def source(job, tmp_path):
    """:return: a directory with the program that makes the disk."""
    path = tmp_path / 'source'
    path.mkdir()
    (path / 'disk').write_bytes(DISK)
    program = path / 'make-disk'
    program.write_text('#!/bin/sh -e\ncp disk "$1"\n')
    program.chmod(0o755)
    job.variables['zuul']['project'] = {'src_dir': str(path)}
    return path


def assertStored(job, directory):
    """Zuul is told of the raw image, and gets it."""
    artifact, = job.getArtifacts()
    assert artifact['metadata'] == {
        'type': 'zuul_image', 'image_name': 'debian', 'format': 'raw',
        'sha256': hashlib.sha256(ROUNDED).hexdigest(),
        'md5sum': hashlib.md5(ROUNDED).hexdigest()}
    assert fetch(artifact, directory).read_bytes() == ROUNDED
    return artifact['url']


def delete(job, url, **kwargs):
    """Delete an image, and once more when it is gone."""
    job.variables['zuul']['image'] = {'url': url}
    output = job.succeed('delete-image', **kwargs).stdout
    assert job.getReturned()['image_deleted'] is True
    return output + job.succeed('delete-image', **kwargs).stdout


@pytest.mark.parametrize('compression, suffix', [
    ('none', ''), ('gzip', '.gz'), ('xz', '.xz'), ('zstd', '.zst')])
def test_directory(job, tmp_path, compression, suffix):
    served = tmp_path / 'served'
    server = Server(served)
    try:
        storage = {'zuul_nodes_storage': 'directory',
                   'zuul_nodes_storage_directory': str(served),
                   'zuul_nodes_storage_url': server.url}
        job.variables.update(storage, zuul_nodes_compression=compression)
        job.succeed(EXAMPLE)
        url = assertStored(job, tmp_path)
        assert url == f'{server.url}/debian-b1d.raw{suffix}'
        (served / 'other').touch()
        delete(job, url)
        assert [path.name for path in served.iterdir()] == ['other']
    finally:
        server.stop()


def test_formats(job, tmp_path, source):
    served = tmp_path / 'served'
    server = Server(served)
    (source / 'tar').write_bytes(b'as if it was one')
    with (source / 'make-disk').open('a') as program:
        program.write('cp tar "${1%raw}tar"\n')
    formats = ['raw', 'qcow2', 'vhd', 'tar']
    try:
        job.variables['zuul']['image'] = {'formats': formats}
        job.succeed(
            EXAMPLE, zuul_nodes_storage='directory',
            zuul_nodes_storage_directory=str(served),
            zuul_nodes_storage_url=server.url, zuul_nodes_compression='zstd')
        found = {artifact['metadata']['format']: fetch(artifact, tmp_path)
                 for artifact in job.getArtifacts()}
    finally:
        server.stop()
    assert set(found) == set(formats)
    for name, driver in (('qcow2', 'qcow2'), ('vhd', 'vpc')):
        raw = tmp_path / f'{name}.raw'
        subprocess.run(['qemu-img', 'convert', '-f', driver, '-O', 'raw',
                        found[name], raw], check=True, timeout=60)
        assert raw.read_bytes() == ROUNDED
    # What Azure takes: all of the disk, and a footer.
    assert found['vhd'].stat().st_size == len(ROUNDED) + 512
    assert found['tar'].read_bytes() == b'as if it was one'


def test_a_warning_says_that_formats_are_not_known(job, tmp_path):
    job.variables['zuul']['image'] = {'formats': None}
    job.succeed(EXAMPLE, zuul_nodes_storage='directory',
                zuul_nodes_storage_directory=str(tmp_path / 'served'),
                zuul_nodes_storage_url='http://127.0.0.1:1')
    artifact, = job.getArtifacts()
    assert artifact['metadata']['format'] == 'raw'
    warning, = job.getReturned()['warnings']
    assert warning == (
        'In which formats providers want the image debian is not known, for '
        'a provider of this tenant is in error. This job makes: raw')


@pytest.mark.parametrize('nodes', [True, False])
@pytest.mark.parametrize('secret, headers', [
    ({'user': 'zuul', 'password': SECRET}, basic('zuul', SECRET)),
    ({'headers': {'X-Key': SECRET}}, {'X-Key': SECRET})])
def test_http(job, tmp_path, secret, headers, nodes):
    server = Server(tmp_path / 'served', headers)
    try:
        job.variables.update(zuul_nodes_storage='http',
                             zuul_nodes_storage_url=server.url)
        output = job.succeed(EXAMPLE, secret).stdout
        url = assertStored(job, tmp_path)
        output += delete(job, url, secret=secret, nodes=nodes)
    finally:
        server.stop()
    assert not list(server.directory.iterdir())
    assert [each for each in server.requests if each[0] == 'DELETE'] == [
        ('DELETE', '/debian-b1d.raw')] * 2
    assert SECRET not in output


def test_http_with_a_wrong_password(job, tmp_path):
    server = Server(tmp_path / 'served', basic('zuul', SECRET))
    try:
        output = job.fail(
            EXAMPLE, {'user': 'zuul', 'password': 'wrong'},
            zuul_nodes_storage='http', zuul_nodes_storage_url=server.url)
    finally:
        server.stop()
    assert 'Put the image on the HTTP server' in output
    assert not job.getArtifacts()


@pytest.mark.parametrize('nodes', [True, False])
def test_s3(job, tmp_path, nodes):
    # Only the environment "roles" has it.
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address='127.0.0.1', port=0)
    server.start()
    try:
        url = 'http://{}:{}'.format(*server.get_host_and_port())
        secret = {'access_key': 'zuul', 'secret_key': SECRET}
        client = boto3.client(
            's3', endpoint_url=url, region_name='us-east-1',
            aws_access_key_id='zuul', aws_secret_access_key=SECRET)
        client.create_bucket(Bucket='images')
        job.variables.update(
            zuul_nodes_storage='s3', zuul_nodes_storage_endpoint=url,
            zuul_nodes_storage_region='us-east-1',
            zuul_nodes_storage_bucket='images',
            zuul_nodes_storage_permission='public-read',
            zuul_nodes_storage_url=f'{url}/images')
        output = job.succeed(EXAMPLE, secret).stdout
        stored = assertStored(job, tmp_path)
        output += delete(job, stored, secret=secret, nodes=nodes)
        assert 'Contents' not in client.list_objects(Bucket='images')
    finally:
        server.stop()
    assert SECRET not in output


@pytest.mark.parametrize('segment_size, nodes', [
    (1 << 20, True), (1 << 30, False)])
def test_swift(job, tmp_path, segment_size, nodes):
    server = Swift(tmp_path / 'swift', 'zuul', SECRET)
    try:
        secret = {'ST_AUTH': f'{server.url}/auth/v1.0', 'ST_USER': 'zuul',
                  'ST_KEY': SECRET}
        job.variables.update(
            zuul_nodes_storage='swift', zuul_nodes_storage_container='images',
            zuul_nodes_storage_segment_size=segment_size,
            zuul_nodes_storage_url=f'{server.url}/v1/a/images')
        if nodes:
            # One of the build's own.
            del job.variables['zuul_nodes_virtualenv']
        output = job.succeed(EXAMPLE, secret).stdout
        assert ('venv' in job.getFiles()) == nodes
        url = assertStored(job, tmp_path)
        segments = sum(len(each) for each in server.manifests.values())
        assert segments == (2 if segment_size == 1 << 20 else 0)
        output += delete(job, url, secret=secret, nodes=nodes)
        assert not [path for path in server.directory.rglob('*')
                    if path.is_file()]
    finally:
        server.stop()
    assert SECRET not in output


def test_images_elsewhere_are_not_deleted(job, tmp_path):
    file = tmp_path / 'debian.raw'
    file.touch()
    for url in ('http://other/debian.raw', 'http://here/../debian.raw',
                'http://here/', 'http://here/..', 'http://here/.',
                'http://here/.ssh', 'http://here/%2e%2e', 'http://here/a?b'):
        output = job.fail(
            'delete-image', zuul={'build': 'b1d', 'image': {'url': url}},
            zuul_nodes_storage='directory',
            zuul_nodes_storage_directory=str(tmp_path),
            zuul_nodes_storage_url='http://here')
        assert f'The image at {url} is not in the storage' in output
    assert file.exists()


@pytest.mark.parametrize('variables, message', [
    ({'zuul_nodes_formats': ['ova']},
     'must be one or more of: raw, tar, qcow2'),
    ({'zuul_nodes_compression': 'rar'}, 'must be one of: none, gzip'),
    ({'zuul_nodes_storage': 'ftp'}, 'these are known: none, directory')])
def test_unknown_format_compression_or_storage_is_refused(
        job, variables, message):
    output = job.fail('build-image', **variables)
    assert message in output
    assert 'Install' not in output
