"""What a web server says of a file, leaves out, or gets wrong: an image is
all of the file, and of one version of it."""

import random

import pytest
import requests

from tests.fixtures.ending import endWith
from tests.fixtures.fileserver import makeDiskSpace, makePace, makeSource
from tests.fixtures.oddserver import Manners, OddServer
from zuul_nodes.imagefiles import ArtifactError, WrongArtifactError
from zuul_nodes.launcher.images import artifacts

OLD, NEW = (random.Random(seed).randbytes(1000) for seed in (1, 2))
# As they say when they have failed.
ERRORS = (ArtifactError, requests.RequestException)
IN_PARTS = pytest.mark.parametrize('chunk_size', [300, 10000])


@pytest.fixture
def serve(request):
    """:return: a function of a server's manners; gives the server."""
    return lambda **manners: endWith(
        request, OddServer(Manners(**{'data': OLD} | manners)))


@pytest.fixture
def download(tmp_path):
    """:return: a function of a server; gives what has come, and whether
    that is certain."""
    def download(server, checked=False, **settings):
        is_certain = artifacts.download(
            makeSource(server), tmp_path / 'image', lambda: None,
            makeDiskSpace(tmp_path), makePace(**settings),
            checked=checked)
        return (tmp_path / 'image').read_bytes(), is_certain
    return download


# Hints

@pytest.mark.parametrize('head', [200, 403, 405, 500])
@pytest.mark.parametrize('length', ['right', 'chunked'])
def test_the_answer_to_head_is_ignored(serve, download, head, length):
    """Neither that there is nothing, nor that it may not be asked."""
    assert download(serve(head=head, length=length)) == (OLD, True)


@IN_PARTS
@pytest.mark.parametrize('length', ['right', 'chunked'])
@pytest.mark.parametrize('tag', ['"one"', 'W/"one"', None])
@pytest.mark.parametrize('ranges', [
    'right', 'none', 'unknown', 'endless', 'short', 'long', 'first',
    'nameless', 'refused'])
def test_ranges(
        serve, download, ranges, tag, length, chunk_size):
    if (ranges, length) == ('endless', 'chunked'):
        pytest.skip('It does not say that there is nothing.')
    server = serve(ranges=ranges, tag=tag, length=length)
    assert download(
        server, download_chunk_size=chunk_size) == (OLD, True)


def test_a_large_file_comes_in_parts(serve, download):
    server = serve(tag='"one"')
    assert download(server, download_chunk_size=300) == (OLD, True)
    assert sorted(server.ranges) == [
        'bytes=0-299', 'bytes=300-599', 'bytes=600-899', 'bytes=900-999']


def test_parts_of_who_knows_which_version_are_not_put_together(
        serve, download):
    server = serve()
    assert download(server, download_chunk_size=300) == (OLD, True)
    assert server.ranges == ['bytes=0-299', None]


def test_a_checksum_tells_of_them(serve, download):
    """And what is wrong then may be right another time."""
    server = serve()
    assert download(
        server, checked=True, download_chunk_size=300) == (OLD, False)
    assert len(server.ranges) == 4


@pytest.mark.parametrize('length', ['chunked', 'right'])
def test_a_limit_holds_for_what_has_no_size(
        serve, download, tmp_path, length):
    server = serve(length=length, data=bytes(20000))
    with pytest.raises(WrongArtifactError, match='image_size_limit'):
        download(server)
    assert (tmp_path / 'image').stat().st_size <= 10000


@pytest.mark.parametrize('status', [202, 204, 300, 304, 404])
def test_an_answer_without_the_file_is_an_error(serve, download, status):
    with pytest.raises(requests.HTTPError, match=str(status)):
        download(serve(ranges='none', status=status))


# The end

@pytest.mark.parametrize('length', ['right', 'chunked'])
@pytest.mark.parametrize('ranges', [
    'right', 'none', 'unknown', 'short', 'long'])
@pytest.mark.parametrize('cut', [0, 1, 33, 500, 999])
def test_a_connection_that_breaks_is_not_the_end(
        serve, download, length, ranges, cut):
    server = serve(length=length, ranges=ranges, tag='"one"',
                   cuts=[cut, None])
    assert download(server) == (OLD, True)


@pytest.mark.parametrize('length', ['right', 'chunked'])
@pytest.mark.parametrize('ranges', ['none', 'refused', 'nameless'])
def test_a_download_that_is_always_interrupted_fails(
        serve, download, length, ranges):
    server = serve(length=length, ranges=ranges, tag='"one"', cuts=[500])
    with pytest.raises(ERRORS):
        download(server)


@pytest.mark.parametrize('length', [None, 'nonsense', '-1'])
def test_without_an_end_there_has_to_be_a_checksum(serve, download, length):
    server = serve(length=length, ranges='none')
    with pytest.raises(WrongArtifactError, match='has no checksum'):
        download(server)
    assert download(server, checked=True) == (OLD, False)


@pytest.mark.parametrize('ranges', ['right', 'unknown'])
def test_parts_tell_their_ends_themselves(serve, download, ranges):
    """Whatever the connection says."""
    server = serve(length=None, ranges=ranges, tag='"one"', cuts=[33, None])
    assert download(server) == (OLD, True)


# The version

@IN_PARTS
@pytest.mark.parametrize('ranges', ['right', 'none', 'unknown', 'short'])
@pytest.mark.parametrize('heeds_conditions', [True, False])
@pytest.mark.parametrize('old, new', [
    ({'tag': '"one"'}, {'tag': '"two"'}),
    ({'tag': 'W/"one"'}, {'tag': 'W/"two"'}),
    ({'modified': 'Thu, 26 Nov 2026 10:00:00 GMT'},
     {'modified': 'Thu, 26 Nov 2026 11:00:00 GMT'}),
    # Nothing tells.
    ({}, {})], ids=['tag', 'weak', 'time', 'nothing'])
@pytest.mark.parametrize('size', [1000, 1001, 600])
def test_a_file_that_changes_is_not_mixed(
        serve, download, ranges, heeds_conditions, old, new,
        size, chunk_size):
    data = (NEW + NEW)[:size]
    server = serve(
        **old, ranges=ranges, heeds_conditions=heeds_conditions,
        cuts=[110, None], next=[{'data': data, **new}])
    assert download(server, download_chunk_size=chunk_size)[0] == data


@pytest.mark.parametrize('checked', [False, True])
def test_a_file_that_always_changes_is_an_error(serve, download, checked):
    server = serve(tag='0', cuts=[110], next=[
        {'tag': f'"{number}"'} for number in range(100)])
    with pytest.raises(ERRORS):
        download(server, checked)
