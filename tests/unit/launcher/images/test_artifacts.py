"""From where a job has put an image to a file."""

import bz2
import gzip
import logging
import lzma
import os
import re
import shutil
import subprocess
import threading
import types
import zlib

import pytest
import requests

from tests.fixtures.fileserver import makeDiskSpace, makePace, makeSource
from tests.fixtures.images import IMAGE, TIMEOUT
from tests.fixtures.waiting import waitFor
from zuul_nodes import imagefiles, messages
from zuul_nodes.imagefiles import ArtifactError, EmptyImageError
from zuul_nodes.launcher.images import artifacts, ranges, web
from zuul_nodes.launcher.images.progress import Progress
from zuul_nodes.launcher.settings import Settings


@pytest.fixture
def disk_space(tmp_path):
    return makeDiskSpace(tmp_path)


@pytest.fixture
def download(server, tmp_path, disk_space):
    """:return: a function of a path on the server, which gives what has
    been downloaded."""
    target = tmp_path / 'image'

    def download(path='/image', timeout=(30, 300), **settings):
        artifacts.download(
            makeSource(server, path, timeout=timeout), target, noCheck,
            disk_space, makePace(TIMEOUT, **settings))
        return target.read_bytes()
    return download


def noCheck(more=0):
    pass


def getRanges(server):
    return [wanted for method, _, wanted in server.requests
            if method == 'GET']


@pytest.mark.parametrize('path', [
    '/image', '/whole/image', '/signed/image?token=1', '/moved/image'])
def test_download(download, server, path):
    assert download(path, download_chunk_size=128) == IMAGE
    if path == '/image':
        assert len(getRanges(server)) == 8


def test_download_that_breaks_is_resumed(download, server):
    server.breaks = [100, 300, 0]
    assert download() == IMAGE
    assert getRanges(server)[1:] == [
        'bytes=100-999', 'bytes=400-999', 'bytes=400-999']


def test_part_of_a_download_that_breaks_is_resumed(
        download, server):
    server.breaks = [500, 100]
    assert download(
        download_chunk_size=500, download_connections=1) == IMAGE
    assert getRanges(server) == ['bytes=0-499', 'bytes=500-999',
                                 'bytes=600-999']


def test_download_without_ranges_begins_anew(download, server):
    server.breaks = [100, 300]
    assert download('/whole/image') == IMAGE
    assert len(getRanges(server)) == 3


def test_download_from_overloaded_server_is_retried(download, server):
    server.failures = [503, 429, 500]
    assert download() == IMAGE


def test_download_that_is_refused_is_not_retried(download, server):
    server.failures = [403]
    with pytest.raises(requests.HTTPError, match='403'):
        download()
    assert len(getRanges(server)) == 1


@pytest.mark.parametrize('url', [
    's3://bucket/image', 'bucket/image', 'http://[bucket/image'])
def test_address_that_is_not_of_the_web_is_not_retried(
        tmp_path, disk_space, url, caplog):
    caplog.set_level(logging.INFO, 'zuul.nodes.images')
    source = web.Source(url, Settings().image_sources)
    with pytest.raises(requests.RequestException):
        artifacts.download(
            source, tmp_path / 'image', noCheck, disk_space,
            makePace(TIMEOUT))
    assert 'interrupted' not in caplog.text


def test_download_that_makes_no_progress_fails(download, server):
    server.breaks = [100] + [0] * 100
    with pytest.raises(requests.RequestException):
        download()
    assert len(getRanges(server)) == 1 + Settings.download_attempts


def test_download_that_makes_progress_may_break_more_often(download, server):
    server.breaks = [10, 0, 0] * Settings.download_attempts
    assert download() == IMAGE


def test_download_fails_when_less_arrives_than_announced(download):
    with pytest.raises(ArtifactError, match='from 999 to 1000, 0 have come'):
        download('/broken/image')


def test_download_stops_when_more_arrives_than_announced(
        download, server, tmp_path):
    server.excess = os.urandom(1 << 20)
    with pytest.raises(
            ArtifactError, match='more than the announced bytes from 0 to'):
        download()
    assert len(getRanges(server)) == 1
    assert (tmp_path / 'image').stat().st_size == len(IMAGE)


def test_stop_ends_wait_for_overloaded_server(server, tmp_path, disk_space):
    class End(Exception):
        pass
    checks = []

    def check():
        checks.append(1)
        if not server.failures:
            raise End
    server.failures = [503]
    with pytest.raises(End):
        artifacts.download(
            makeSource(server), tmp_path / 'image', check, disk_space,
            makePace(TIMEOUT))


def test_every_request_has_a_timeout(download, server):
    server.answers.clear()
    for path in ('/image', '/signed/image'):
        with pytest.raises(OSError, match='timed out'):
            download(path, (1, 0.1))


class TestSlow:
    """A server that sends something now and then, or nothing: it holds
    neither the place of a download nor a launcher that stops."""

    @pytest.fixture(params=['silent', 'drips'])
    def server(self, server, request):
        server.drips = request.param == 'drips'
        if request.param == 'silent':
            server.answers.clear()
        return server

    @pytest.fixture
    def threads(self, server):
        """:return: a function that lists what still waits for it."""
        before = set(threading.enumerate())
        return lambda: [
            thread for thread in threading.enumerate()
            if thread not in before and thread.name.startswith('Download')]

    def download(self, server, tmp_path, disk_space, check, timeout, rate=0,
                 **settings):
        artifacts.download(
            makeSource(server, '/image?token=secret'), tmp_path / 'image',
            check, disk_space, makePace(
                timeout, rate, download_block_size=len(IMAGE), **settings))

    def test_a_download_has_a_timeout_in_all(
            self, server, tmp_path, disk_space, threads):
        with pytest.raises(ArtifactError) as caught:
            self.download(server, tmp_path, disk_space, noCheck, 0.2)
        assert str(caught.value) == (
            f'Downloading {server.url}/image has not ended in 0.2 seconds, '
            'the value of "image_timeout" in the section "launcher" of '
            'zuul.conf')
        # Python does not wait for those that still do.
        assert server.drips or threads()
        assert all(thread.daemon for thread in threads())
        server.answers.set()
        waitFor(lambda: not threads())

    def test_a_download_has_to_get_on(
            self, server, tmp_path, disk_space, threads):
        with pytest.raises(ArtifactError) as caught:
            self.download(server, tmp_path, disk_space, noCheck, TIMEOUT, 1000,
                          download_window=0.2)
        assert re.fullmatch(
            rf'Downloading {server.url}/image is given up: \d bytes have come '
            'in 0 seconds, which is less than the 1000 bytes per second of '
            '"image_minimum_rate" in the section "launcher" of zuul.conf',
            str(caught.value))
        server.answers.set()
        waitFor(lambda: not threads())

    def test_download_ends_when_it_is_asked_to(
            self, server, tmp_path, disk_space, threads):
        class End(Exception):
            pass

        def check():
            if server.requests:
                raise End
        with pytest.raises(End):
            self.download(server, tmp_path, disk_space, check, TIMEOUT)
        server.answers.set()
        waitFor(lambda: not threads())
        assert len(server.requests) <= 2


def test_a_download_that_gets_on_may_be_slow():
    """Each window begins anew."""
    passed = []
    window = 60
    pace = makePace(100 * window, 5, lambda: sum(passed),
                    download_window=window)
    for _ in range(10):
        passed.append(window)
        pace.addBytes(5 * window)
        pace.check('image')
    passed.append(window)
    pace.addBytes(5 * window - 1)
    with pytest.raises(ArtifactError, match='is given up'):
        pace.check('image')


def test_secrets_in_urls_are_not_shown():
    assert artifacts.getName('https://host/image?X-Amz-Signature=1') == (
        'https://host/image')


@pytest.mark.parametrize('path, status', [
    ('/image', 403), ('/image', 503), ('/missing', None)])
def test_secrets_in_errors_are_not_shown(
        download, server, caplog, path, status):
    caplog.set_level(logging.INFO, 'zuul.nodes.images')
    server.failures = [status] * Settings.download_attempts if status else []
    with pytest.raises(requests.HTTPError) as caught:
        download(f'{path}?token=secret')
    assert 'secret' in str(caught.value)
    reason = messages.withoutSecrets(caught.value)
    assert 'secret' not in reason + caplog.text
    assert f'{server.url}{path}' in reason


def test_secrets_in_errors_of_connections_are_not_shown(server):
    server.end()
    with pytest.raises(requests.ConnectionError) as caught:
        ranges.Part(makeSource(server, '/image?token=secret'), 0, None, None)
    assert 'secret' in str(caught.value)
    assert 'secret' not in messages.withoutSecrets(caught.value)


# DiskSpace

def test_an_image_that_is_too_large_is_not_downloaded(
        download, disk_space, tmp_path):
    disk_space.limit = 999
    with pytest.raises(
            ArtifactError, match=r'1000 bytes.*"image_size_limit"'):
        download()
    assert not (tmp_path / 'image').stat().st_size


def test_download_fails_when_disk_is_full(download, disk_space, tmp_path):
    disk_space.reserve = 1 << 60
    with pytest.raises(ArtifactError, match='disk space for the image'):
        download()
    assert not (tmp_path / 'image').stat().st_size


def test_download_fails_when_others_fill_the_disk(
        download, server, monkeypatch):
    free = iter([len(IMAGE), 500, 5])
    monkeypatch.setattr(imagefiles.shutil, 'disk_usage', lambda path: (
        types.SimpleNamespace(free=next(free))))
    with pytest.raises(ArtifactError, match='disk space for the image'):
        download()
    assert len(getRanges(server)) == 1


# Compressed ones

def compressZstd(data):
    return subprocess.run(
        ['zstd', '-c'], input=data, capture_output=True, check=True).stdout


needs_zstd = pytest.mark.skipif(
    not shutil.which('zstd'), reason='the program zstd is not installed')
KINDS = pytest.mark.parametrize('compress', [
    pytest.param(compressZstd, marks=needs_zstd), gzip.compress,
    lzma.compress, bz2.compress])
GZIP, XZ, BZIP2 = (
    module.compress(IMAGE) for module in (gzip, lzma, bz2))
# A frame that is to be skipped.
SKIPPED = bytes.fromhex('5a2a4d1804000000') + b'size'


@pytest.fixture
def decompress(tmp_path, disk_space):
    """:return: a function that writes a file, decompresses it, and gives
        what it has then."""
    path = tmp_path / 'image'

    def decompress(data):
        path.write_bytes(data)
        artifacts.decompress(str(path), noCheck, disk_space)
        assert list(tmp_path.iterdir()) == [path]
        return path.read_bytes()
    return decompress


@KINDS
def test_decompress(decompress, compress):
    assert decompress(compress(IMAGE)) == IMAGE


@KINDS
def test_file_of_several_parts_is_decompressed(decompress, compress):
    assert decompress(compress(IMAGE) + compress(IMAGE)) == 2 * IMAGE


@pytest.mark.parametrize('program, makeData', [
    ('gzip', lambda: GZIP + bytes(512)),
    ('gzip', lambda: GZIP + gzip.compress(b'') + GZIP),
    # With a name, a comment, something extra and a checksum of all that.
    ('gzip', lambda: (
        (head := bytes.fromhex('1f8b081e00000000 0003 0200') + b'xx'
         + b'image\0' + b'of a node\0')
        + (zlib.crc32(head) & 0xffff).to_bytes(2, 'little') + GZIP[10:])),
    ('bzip2', lambda: BZIP2 + bz2.compress(b'') + BZIP2),
    ('bzip2', lambda: bz2.compress(b'') + BZIP2),
    ('xz', lambda: (XZ + bytes(4)) * 2),
    ('xz', lambda: XZ + bytes(4000) + XZ + lzma.compress(b'')),
    ('xz', lambda: lzma.compress(IMAGE, check=lzma.CHECK_NONE)),
    ('xz', lambda: lzma.compress(IMAGE, check=lzma.CHECK_SHA256)),
    ('zstd', lambda: SKIPPED + compressZstd(IMAGE)),
    ('zstd', lambda: compressZstd(IMAGE) + SKIPPED),
    ('zstd', lambda: (SKIPPED + compressZstd(IMAGE)) * 2),
    ('zstd', lambda: compressZstd(b'') + compressZstd(IMAGE))])
def test_files_that_the_usual_program_accepts_are_decompressed(
        decompress, program, makeData):
    if not shutil.which(program):
        pytest.skip(f'the program {program} is not installed')
    data = makeData()
    expected = subprocess.run(
        [program, '-dc'], input=data, capture_output=True, check=True).stdout
    assert set(expected) == set(IMAGE)
    assert decompress(data) == expected


def test_file_that_is_not_compressed_is_not_changed(decompress):
    assert decompress(IMAGE) == IMAGE


@pytest.mark.parametrize('data', [
    b'', gzip.compress(b'', mtime=0), 2 * gzip.compress(b'', mtime=0),
    lzma.compress(b''), bz2.compress(b''),
    pytest.param(SKIPPED, marks=needs_zstd)])
def test_nothing_is_no_image(decompress, data):
    """However it is compressed."""
    with pytest.raises(EmptyImageError, match=r'is (compressed, and )?empty'):
        decompress(data)


@KINDS
def test_truncated_file_is_refused(decompress, compress):
    with pytest.raises(ArtifactError):
        decompress(compress(IMAGE)[:-100])


@needs_zstd
def test_zstd_file_needs_the_program_zstd(decompress, tmp_path, monkeypatch):
    data = compressZstd(IMAGE)
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(ArtifactError, match='not installed'):
        decompress(data)


# What people see

def test_progress(caplog):
    caplog.set_level(logging.INFO, 'zuul.nodes.images')
    downloading = Progress('Downloading image', 4 << 20, interval=0)
    downloading.addBytes(1 << 20)
    downloading.addBytes(2 << 20)
    Progress('Decompressing image', 0, interval=0).addBytes(5 << 20)
    assert [record.getMessage() for record in caplog.records] == [
        'Downloading image: 1 of 4 MiB, 25 %',
        'Downloading image: 3 of 4 MiB, 75 %',
        'Decompressing image: 5 MiB']


def test_progress_is_told_now_and_then(caplog):
    caplog.set_level(logging.INFO, 'zuul.nodes.images')
    Progress('Downloading image', 4 << 20).addBytes(1 << 20)
    assert caplog.records == []
