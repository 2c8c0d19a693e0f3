"""diskimage-builder builds a minimal Debian, as the job has it do."""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from tests.unit.roles.storage import Server
from tests.unit.roles.test_storage import fetch

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
def debian():
    """:return: variables for a minimal image of this Debian."""
    if not shutil.which('debootstrap'):
        pytest.skip('debootstrap is missing')
    if subprocess.run(['sudo', '-n', 'true'], check=False,
                      timeout=60).returncode:
        pytest.skip('diskimage-builder needs sudo without a password')
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


def haveLoopDevices():
    return subprocess.run(
        ['sudo', '-n', 'losetup', '--find'], check=False, timeout=60,
        capture_output=True).returncode == 0


def test_minimal_debian(job, tmp_path, debian):
    # A tar file needs no loop device.
    formats = ['tar', 'qcow2'] if haveLoopDevices() else ['tar']
    job.variables['zuul']['image'] = {'formats': formats}
    server = Server(tmp_path / 'served')
    try:
        job.succeed(
            'build-image', **debian, zuul_nodes_image_size=3,
            zuul_nodes_compression='zstd', zuul_nodes_storage='directory',
            zuul_nodes_storage_directory=str(server.directory),
            zuul_nodes_storage_url=server.url)
        assert len(os.listdir(server.directory)) == len(formats)
        found = {artifact['metadata']['format']: fetch(artifact, tmp_path)
                 for artifact in job.getArtifacts()}
    finally:
        server.stop()
    assert set(found) == set(formats)
    with tarfile.open(found['tar']) as tar:
        assert './etc/debian_version' in tar.getnames()
    if 'qcow2' in found:
        subprocess.run(['qemu-img', 'check', found['qcow2']], check=True,
                       timeout=60)
        info = subprocess.run(
            ['qemu-img', 'info', found['qcow2']], check=True, timeout=60,
            capture_output=True, text=True).stdout
        assert f'({3 << 30} bytes)' in info
