"""A small file of a job's that wants all memory, or fills the disk."""

import gzip
import lzma
import shutil
import subprocess

import pytest

from tests.fixtures.compressed import makeHugeXz, makeHugeZstd
from zuul_nodes import imagefiles
from zuul_nodes.imagefiles import ArtifactError, DiskSpace
from zuul_nodes.launcher.images import artifacts

needs_zstd = pytest.mark.skipif(
    not shutil.which('zstd'), reason='the program zstd is not installed')


def compressZstd(data, *options):
    return subprocess.run(
        ['zstd', '-c', *options], input=data, capture_output=True,
        check=True).stdout


HUGE = {'xz': makeHugeXz, 'zstd': makeHugeZstd,
        # The program zstd goes on with what is of another kind.
        'xz behind zstd': lambda: compressZstd(b'') + makeHugeXz()}


@pytest.fixture
def decompress(tmp_path):
    """:return: a function that decompresses an image as the launcher
        does."""
    path = tmp_path / 'image'
    disk_space = DiskSpace(tmp_path, 10000)

    def decompress(data):
        path.write_bytes(data)
        artifacts.decompress(str(path), lambda: None, disk_space)
        return path.read_bytes()
    return decompress


@needs_zstd
@pytest.mark.parametrize('kind', HUGE)
def test_a_job_cannot_make_the_launcher_use_gigabytes_of_memory(
        decompress, kind):
    with pytest.raises(ArtifactError, match=(
            r'decompress the image in 256 MiB of memory: .*(emory|error 5)')):
        decompress(HUGE[kind]())


@pytest.mark.parametrize('compress', [
    lambda data: lzma.compress(data, preset=9), pytest.param(
        lambda data: compressZstd(data, '--ultra', '-22', '--long'),
        marks=needs_zstd)])
def test_the_best_compression_is_not_refused(decompress, compress):
    assert decompress(compress(b'image')) == b'image'


@pytest.mark.parametrize('compress', [
    gzip.compress, lzma.compress,
    pytest.param(compressZstd, marks=needs_zstd)])
def test_a_small_file_cannot_fill_the_disk(
        decompress, tmp_path, monkeypatch, compress):
    monkeypatch.setattr(imagefiles, 'BLOCK_SIZE', 1000)
    with pytest.raises(ArtifactError, match='image_size_limit'):
        decompress(compress(bytes(10000000)))
    assert all(path.stat().st_size <= 10000 for path in tmp_path.iterdir()
               if path.name != 'image')


def test_a_disk_keeps_room_for_files_of_others(tmp_path):
    disk_space = DiskSpace(tmp_path, 10)
    disk_space.reserved_files = 1 << 62
    if not imagefiles.os.statvfs(tmp_path).f_files:
        pytest.skip('this file system can have any number of files')
    with pytest.raises(ArtifactError, match='more files'):
        disk_space.check(1, 1)
