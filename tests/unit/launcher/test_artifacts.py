"""From where a job has put an image to a file."""

import gzip
import logging
import lzma
import os
import shutil
import subprocess
import threading
import types

import pytest
import requests

from tests.fixtures.images import TIMEOUT, waitFor
from zuul_nodes.launcher import artifacts
from zuul_nodes.launcher.artifacts import ArtifactError, Progress, Room

DATA = os.urandom(1000)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(artifacts, 'getPause', lambda attempt: 0.01)
    monkeypatch.setattr(artifacts, 'RESERVE', 0)
    monkeypatch.setattr(artifacts, 'BLOCK_SIZE', 10)
    monkeypatch.setattr(artifacts, 'CHECK_INTERVAL', 0.01)


@pytest.fixture
def server(file_server):
    file_server.files['image'] = DATA
    return file_server


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path, 10000)


@pytest.fixture
def download(server, tmp_path, room):
    """:return: a function of a path on the server, which gives what has
    been downloaded."""
    target = tmp_path / 'image'

    def download(path='/image'):
        artifacts.download(server.url + path, target, noCheck, room, TIMEOUT)
        return target.read_bytes()
    return download


def noCheck(more=0):
    pass


def getRanges(server):
    return [wanted for method, _, wanted in server.requests
            if method == 'GET']


@pytest.mark.parametrize('path', [
    '/image', '/whole/image', '/signed/image?token=1', '/moved/image'])
def test_download(download, server, monkeypatch, path):
    monkeypatch.setattr(artifacts, 'CHUNK_SIZE', 128)
    assert download(path) == DATA
    if path == '/image':
        assert len(getRanges(server)) == 8


def test_a_transfer_that_breaks_goes_on_from_there(download, server):
    server.breaks = [100, 300, 0]
    assert download() == DATA
    assert getRanges(server) == ['bytes=0-999', 'bytes=100-999',
                                 'bytes=400-999', 'bytes=400-999']


def test_a_part_that_breaks(download, server, monkeypatch):
    monkeypatch.setattr(artifacts, 'CHUNK_SIZE', 500)
    monkeypatch.setattr(artifacts, 'CONNECTIONS', 1)
    server.breaks = [500, 100]
    assert download() == DATA
    assert getRanges(server) == ['bytes=0-499', 'bytes=500-999',
                                 'bytes=600-999']


def test_a_server_without_ranges_begins_anew(download, server):
    server.breaks = [100, 300]
    assert download('/whole/image') == DATA
    assert len(getRanges(server)) == 3


def test_a_server_that_is_overloaded(download, server):
    server.failures = [503, 429, 500]
    assert download() == DATA


def test_a_server_that_refuses(download, server):
    server.failures = [403]
    with pytest.raises(requests.HTTPError, match='403'):
        download()
    assert len(getRanges(server)) == 1


def test_what_never_gets_on_comes_to_an_end(download, server):
    server.breaks = [100] + [0] * 100
    with pytest.raises(requests.RequestException):
        download()
    assert len(getRanges(server)) == 1 + artifacts.ATTEMPTS


def test_what_gets_on_may_break_more_often(download, server):
    server.breaks = [10, 0, 0] * artifacts.ATTEMPTS
    assert download() == DATA


def test_less_than_was_told(download):
    with pytest.raises(ArtifactError, match='of those from 0 to 1000, 999'):
        download('/broken/image')


@pytest.mark.parametrize('path', ['/image', '/whole/image'])
def test_more_than_was_told(download, server, tmp_path, path):
    server.excess = os.urandom(1 << 20)
    with pytest.raises(ArtifactError, match='more than those from 0 to 1000'):
        download(path)
    assert len(getRanges(server)) == 1
    assert (tmp_path / 'image').stat().st_size == len(DATA)


def test_an_end_while_waiting_for_a_server(server, tmp_path, room):
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
            f'{server.url}/image', tmp_path / 'image', check, room, TIMEOUT)


def test_every_request_has_a_timeout(download, server, monkeypatch):
    monkeypatch.setattr(artifacts, 'TIMEOUT', (1, 0.1))
    server.answers.clear()
    for path in ('/image', '/signed/image'):
        with pytest.raises(OSError, match='timed out'):
            download(path)


def test_a_part_has_a_timeout(server, tmp_path, monkeypatch):
    monkeypatch.setattr(artifacts, 'TIMEOUT', (1, 0.1))
    monkeypatch.setattr(artifacts, 'ATTEMPTS', 1)
    server.answers.clear()
    (tmp_path / 'image').touch()
    with pytest.raises(OSError, match='timed out'):
        artifacts._downloadChunk(
            f'{server.url}/image', tmp_path / 'image', 0, 10, 10, noCheck,
            Progress('Downloading', 10))


class TestSlow:
    """A server that sends something now and then, or nothing: it holds
    neither the place of a download nor a launcher that stops."""

    @pytest.fixture(params=['silent', 'drips'])
    def server(self, server, request, monkeypatch):
        monkeypatch.setattr(artifacts, 'BLOCK_SIZE', len(DATA))
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

    def download(self, server, tmp_path, room, check, timeout):
        artifacts.download(
            f'{server.url}/image?token=secret', tmp_path / 'image', check,
            room, timeout)

    def test_a_download_has_a_timeout_in_all(
            self, server, tmp_path, room, threads):
        with pytest.raises(ArtifactError) as caught:
            self.download(server, tmp_path, room, noCheck, 0.2)
        assert str(caught.value) == (
            f'Downloading {server.url}/image has not ended in 0.2 seconds, '
            'which is "image_timeout" in the section "launcher" of zuul.conf')
        # Python does not wait for those that still do.
        assert server.drips or threads()
        assert all(thread.daemon for thread in threads())
        server.answers.set()
        waitFor(lambda: not threads())

    def test_it_ends_when_it_is_asked_to(
            self, server, tmp_path, room, threads):
        class End(Exception):
            pass

        def check():
            if server.requests:
                raise End
        with pytest.raises(End):
            self.download(server, tmp_path, room, check, TIMEOUT)
        server.answers.set()
        waitFor(lambda: not threads())
        assert len(server.requests) <= 2


def test_secrets_in_urls_are_not_shown():
    assert artifacts.getName('https://host/image?X-Amz-Signature=1') == (
        'https://host/image')


@pytest.mark.parametrize('path, status', [
    ('/image', 403), ('/image', 503), ('/missing', None)])
def test_secrets_in_errors_are_not_shown(
        download, server, caplog, path, status):
    caplog.set_level(logging.INFO, 'zuul.Launcher')
    server.failures = [status] * artifacts.ATTEMPTS if status else []
    with pytest.raises(requests.HTTPError) as caught:
        download(f'{path}?token=secret')
    assert 'secret' in str(caught.value)
    reason = artifacts.getReason(caught.value)
    assert 'secret' not in reason + caplog.text
    assert f'{server.url}{path}' in reason


def test_secrets_in_errors_of_connections_are_not_shown(server):
    server.end()
    with pytest.raises(requests.ConnectionError) as caught:
        artifacts.getSize(f'{server.url}/image?token=secret')
    assert 'secret' in str(caught.value)
    assert 'secret' not in artifacts.getReason(caught.value)


# Room

def test_an_image_that_is_too_large_is_not_downloaded(
        download, room, server):
    room.limit = 999
    with pytest.raises(
            ArtifactError, match=r'1000 bytes.*"image_size_limit"'):
        download()
    assert getRanges(server) == []


def test_a_disk_that_is_full(download, server, monkeypatch):
    monkeypatch.setattr(artifacts, 'RESERVE', 1 << 60)
    with pytest.raises(ArtifactError, match='no room for the image'):
        download()
    assert getRanges(server) == []


def test_a_disk_that_others_fill(download, server, monkeypatch):
    """The other part, another image, whoever."""
    free = iter([len(DATA), 500, 5])
    monkeypatch.setattr(artifacts.shutil, 'disk_usage', lambda path: (
        types.SimpleNamespace(free=next(free))))
    with pytest.raises(ArtifactError, match='no room for the image'):
        download()
    assert len(getRanges(server)) == 1


# Compressed ones

def compressZstd(data):
    return subprocess.run(
        ['zstd', '-c'], input=data, capture_output=True, check=True).stdout


needs_zstd = pytest.mark.skipif(
    not shutil.which('zstd'), reason='the program zstd is not installed')
KINDS = pytest.mark.parametrize('suffix, compress', [
    pytest.param('.zst', compressZstd, marks=needs_zstd),
    ('.gz', gzip.compress), ('.xz', lzma.compress)], ids=str)


@pytest.fixture
def write(tmp_path):
    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)
    return write


@KINDS
def test_decompress(write, room, tmp_path, suffix, compress):
    path = write(f'image{suffix}', compress(DATA))
    target = artifacts.decompress(path, noCheck, room)
    assert target == str(tmp_path / 'image')
    assert (tmp_path / 'image').read_bytes() == DATA
    assert not os.path.exists(path)


@pytest.mark.parametrize('name', ['image', 'image.raw', 'zst'])
def test_what_is_not_compressed(write, room, name):
    path = write(name, DATA)
    assert artifacts.decompress(path, noCheck, room) == path


@KINDS
def test_what_is_not_what_it_is_called(write, room, suffix, compress):
    path = write(f'image{suffix}', DATA)
    with pytest.raises(ArtifactError):
        artifacts.decompress(path, noCheck, room)


@KINDS
def test_half_a_file(write, room, suffix, compress):
    path = write(f'image{suffix}', compress(DATA)[:-100])
    with pytest.raises(ArtifactError):
        artifacts.decompress(path, noCheck, room)


@KINDS
def test_a_bomb(write, room, tmp_path, monkeypatch, suffix, compress):
    """It is small, and would fill the disk."""
    monkeypatch.setattr(artifacts, 'BLOCK_SIZE', 1000)
    path = write(f'image{suffix}', compress(bytes(10000000)))
    with pytest.raises(ArtifactError, match='image_size_limit'):
        artifacts.decompress(path, noCheck, room)
    assert (tmp_path / 'image').stat().st_size <= room.limit


def test_without_zstd(write, room, tmp_path, monkeypatch):
    path = write('image.zst', DATA)
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(ArtifactError, match='not installed'):
        artifacts.decompress(path, noCheck, room)


# What people see

def test_progress(caplog, monkeypatch):
    monkeypatch.setattr(artifacts, 'PROGRESS_INTERVAL', 0)
    caplog.set_level(logging.INFO, 'zuul.Launcher')
    progress = Progress('Downloading image', 4 << 20)
    progress.add(1 << 20)
    progress.add(2 << 20)
    Progress('Decompressing image', 0).add(5 << 20)
    assert [record.getMessage() for record in caplog.records] == [
        'Downloading image: 1 of 4 MiB, 25 %',
        'Downloading image: 3 of 4 MiB, 75 %',
        'Decompressing image: 5 MiB']


def test_progress_is_told_now_and_then(caplog):
    caplog.set_level(logging.INFO, 'zuul.Launcher')
    Progress('Downloading image', 4 << 20).add(1 << 20)
    assert caplog.records == []
