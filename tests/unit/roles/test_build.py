"""Images that diskimage-builder really builds, as the job has it do."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from tests.unit.roles.storage import Server, fetch

pytestmark = pytest.mark.roles


def getMirrors():
    """:return: suite -> URL of the mirror that this machine has it from."""
    targets = subprocess.run(
        ['apt-get', 'indextargets', '--format', '$(CODENAME) $(REPO_URI)',
         'Created-By: Packages', 'Component: main'],
        check=True, timeout=60, capture_output=True, text=True).stdout
    return {suite: url.rstrip('/') for suite, url in
            (line.split() for line in targets.splitlines())}


@pytest.fixture
def sudo():
    if subprocess.run(['sudo', '-n', 'true'], check=False,
                      timeout=60).returncode:
        pytest.skip('diskimage-builder needs sudo without a password')


@pytest.fixture
def debian(sudo):
    """:return: variables for a minimal image of this Debian."""
    if not shutil.which('debootstrap'):
        pytest.skip('debootstrap is missing')
    release = re.search('^VERSION_CODENAME=(.*)$', pathlib.Path(
        '/etc/os-release').read_text(), re.MULTILINE).group(1)
    mirrors = getMirrors()
    return {
        'zuul_nodes_elements': ['debian-minimal'],
        'zuul_nodes_dib_environment': {
            'DIB_RELEASE': release,
            'DIB_DEBIAN_COMPONENTS': 'main',
            'DIB_DEBOOTSTRAP_EXTRA_ARGS': '--variant=minbase',
            'DIB_DISTRIBUTION_MIRROR': mirrors[release],
            'DIB_DEBIAN_SECURITY_MIRROR': mirrors[f'{release}-security'],
        }}


@pytest.fixture
def loopDevices(sudo):
    if subprocess.run(['sudo', '-n', 'losetup', '--find'], check=False,
                      timeout=60, capture_output=True).returncode:
        pytest.skip('diskimage-builder needs loop devices')


@pytest.fixture
def tiny(tmp_path, loopDevices):
    """:return: a function that returns variables for an image in which
        ``/etc/tiny`` has that text, and that takes seconds to build."""
    element = tmp_path / 'elements/tiny'
    for name, text in (
            ('element-provides', 'operating-system\n'),
            ('environment.d/10-tiny.bash', 'export DISTRO_NAME=tiny\n'),
            ('root.d/10-tiny', '#!/bin/bash -e\n'
             'sudo mkdir -p $TARGET_ROOT/{dev,etc,proc,root,sys,tmp,var/log}\n'
             'echo "$TINY" | sudo tee $TARGET_ROOT/etc/tiny\n')):
        path = element / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return lambda text: {
        'zuul_nodes_elements': ['tiny'],
        'zuul_nodes_elements_path': [str(element.parent)],
        'zuul_nodes_formats': ['tar'],
        'zuul_nodes_dib_arguments': ['-n'],
        'zuul_nodes_image_size': 1,
        'zuul_nodes_dib_environment': {'TINY': text}}


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / 'served')
    yield server
    server.stop()


def store(server):
    """:return: variables for that storage."""
    return {'zuul_nodes_storage': 'directory',
            'zuul_nodes_storage_directory': str(server.directory),
            'zuul_nodes_storage_url': server.url}


def readTiny(job, directory):
    """:return: what an image has that the job has published."""
    artifact, = job.getArtifacts()
    with tarfile.open(fetch(artifact, directory)) as tar:
        return tar.extractfile('./etc/tiny').read().decode().strip()


def test_each_build_publishes_what_it_has_built(
        makeJob, tmp_path, tiny, server):
    node = tmp_path / 'node'
    # What another job has left on a static node.
    for path in (node / 'image.tar', node / 'builds/dead/image.tar'):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b'another image')
    jobs = {text: makeJob(f'b-{text}') for text in ('one', 'two')}
    # That is what pip can't do twice at a time in the one that tests share.
    jobs['one'].succeed('build-image', **tiny('none'))
    # At the same time on the same node.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(
            lambda text: jobs[text].succeed(
                'build-image', **tiny(text), **store(server)), jobs))
    assert {text: readTiny(job, tmp_path) for text, job in jobs.items()
            } == {text: text for text in jobs}


def test_a_job_removes_what_it_has_made(job, tmp_path, tiny):
    element = tmp_path / 'elements/tiny/root.d/20-fail'
    job.succeed('build-image', **tiny('one'))
    assert {'cache', 'image.tar'} <= set(job.getFiles())
    assert not job.getArtifacts()
    # Nothing is written elsewhere, but by Ansible itself, and by Rust, whose
    # version pip asks for.
    assert set(os.listdir(job.home)) <= {'.ansible', '.rustup'}
    element.write_text('#!/bin/sh\nexit 1\n')
    element.chmod(0o755)
    job.fail('build-image', **tiny('two'))
    # The second image of a job begins anew, too.
    assert 'image.tar' not in job.getFiles()
    # diskimage-builder has run as root.
    file = tmp_path / 'node/builds/b1d/root/file'
    subprocess.run(['sudo', 'mkdir', '-m', '700', file.parent], check=True)
    subprocess.run(['sudo', 'touch', file], check=True)
    job.succeed('clean')
    assert set(os.listdir(tmp_path / 'node')) <= {'builds', 'cache'}
    assert os.listdir(tmp_path / 'node/builds') == []


def test_what_killed_builds_have_left_is_removed_later(
        job, tmp_path, tiny):
    (tmp_path / 'disk').mkdir()
    (tmp_path / 'node').symlink_to(tmp_path / 'disk')
    builds = tmp_path / 'disk/builds'
    for name in ('old', 'new'):
        (builds / name / 'mnt/dev').mkdir(parents=True)
    device = tmp_path / 'dev/null'
    device.parent.mkdir()
    device.touch()
    mounted = builds / 'old/mnt/dev'
    subprocess.run(['sudo', 'mount', '--bind', device.parent, mounted],
                   check=True)
    try:
        os.utime(builds / 'old', (0, 0))
        job.succeed('build-image', **tiny('one'))
        assert sorted(os.listdir(builds)) == ['b1d', 'new']
        # The node's own, to which that directory has led.
        assert device.exists()
        assert str(mounted) not in pathlib.Path(
            '/proc/self/mountinfo').read_text()
    finally:
        subprocess.run(['sudo', 'umount', mounted], check=False,
                       stderr=subprocess.DEVNULL)


def test_minimal_debian(job, tmp_path, debian, loopDevices, server):
    formats = ['tar', 'qcow2']
    job.variables['zuul']['image'] = {'formats': formats}
    job.succeed('build-image', **debian, **store(server),
                zuul_nodes_image_size=3, zuul_nodes_compression='zstd')
    assert len(os.listdir(server.directory)) == len(formats)
    found = {artifact['metadata']['format']: fetch(artifact, tmp_path)
             for artifact in job.getArtifacts()}
    assert set(found) == set(formats)
    with tarfile.open(found['tar']) as tar:
        assert './etc/debian_version' in tar.getnames()
    subprocess.run(['qemu-img', 'check', found['qcow2']], check=True,
                   timeout=60)
    info = subprocess.run(
        ['qemu-img', 'info', found['qcow2']], check=True, timeout=60,
        capture_output=True, text=True).stdout
    assert f'({3 << 30} bytes)' in info
