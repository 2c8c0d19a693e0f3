"""What a job returns is whatever its author writes."""

import types

import pytest

from tests.unit.drivers.zuul.site import (
    IMAGES,
    IMAGES_FILE,
    URL,
    makeArtifact,
)
from zuul_nodes.drivers.zuul.artifacts import findImages

CENTRAL_FILE = ('config', 'main', 'zuul.d/images.yaml')
CENTRAL = '''
- image: {name: central, type: zuul}
'''


@pytest.fixture
def find(loadTenant):
    """:return: a function of what a job returns in the artifacts; gives
        what :func:`findImages` does."""
    layout = loadTenant({CENTRAL_FILE: CENTRAL, IMAGES_FILE: IMAGES}).layout

    def find(*artifacts, image='debian', **result):
        return findImages(
            types.SimpleNamespace(
                job=types.SimpleNamespace(
                    name='build', image_build_name=image),
                result_data={'zuul': {'artifacts': list(artifacts),
                                      **result}}),
            layout)
    return find


def getOne(found):
    (image,), problems = found
    assert problems == []
    return image


def test_image_of_the_job(find):
    image = getOne(find(makeArtifact()))
    assert image.image.name == 'debian'
    assert (image.format, image.url) == ('raw', URL)
    assert (image.md5sum, image.sha256) == (None, None)


def test_another_image_of_the_same_project(find):
    images, problems = find(
        makeArtifact(), makeArtifact(image_name='fedora'))
    assert [image.image.name for image in images] == ['debian', 'fedora']
    assert problems == []


@pytest.mark.parametrize('image_format', [
    'qcow2', 'vhd.zst', 'RAW', 'tar.gz', 'x86-64_v3'])
def test_formats(find, image_format):
    assert getOne(find(makeArtifact(format=image_format))
                  ).format == image_format


def test_checksums(find):
    image = getOne(find(makeArtifact(md5sum='0aF' + 29 * '0',
                                     sha256='aBcDeF01' * 8)))
    assert image.md5sum == '0af' + 29 * '0'
    assert image.sha256 == 'abcdef01' * 8


@pytest.mark.parametrize('url', [
    'file:///srv/a%20b.raw', 's3://bucket/key', 'gs://bucket/key',
    'HTTP://[::1]/x', 'https://a/b?c=d#e'])
def test_urls(find, url):
    assert getOne(find(makeArtifact(url=url))).url == url


def test_url_relative_to_the_logs(find):
    image = getOne(find(makeArtifact(url='images/debian.raw'),
                        log_url='https://logs.example.com/1'))
    assert image.url == 'https://logs.example.com/1/images/debian.raw'


def test_same_image_twice(find):
    images, (problem,) = find(
        makeArtifact(), makeArtifact('again', url='https://example.com/2'),
        makeArtifact(format='qcow2'))
    assert [image.format for image in images] == ['raw', 'qcow2']
    assert images[0].url == URL
    assert '"again"' in problem
    assert 'debian in the format raw' in problem


@pytest.mark.parametrize('artifact', [
    {'name': 'logs', 'url': 'logs/'},
    {'name': 'logs', 'url': 'logs/', 'metadata': {'type': 'log'}},
    {'name': 'logs', 'url': 'logs/', 'metadata': {'type': ['zuul_image']}},
    {'name': 'logs', 'metadata': 'zuul_image'}, None, 3, 'zuul_image', []])
def test_artifacts_of_other_types_are_ignored(find, artifact):
    assert getOne(find(artifact, makeArtifact())).url == URL


@pytest.mark.parametrize('metadata, words', [
    ({'format': None}, 'no "format"'),
    ({'format': ''}, 'its format is ""'),
    ({'format': 3}, 'its format is 3'),
    ({'format': ['raw']}, "its format is ['raw']"),
    ({'format': 'raw\n'}, 'such as "raw"'),
    ({'format': '../raw'}, '"../raw"'),
    ({'format': 'x' * 65}, 'such as "raw"'),
    ({'sha256': 'abc'}, 'its sha256 is "abc"; it must have 64'),
    ({'sha256': ''}, 'its sha256 is ""'),
    ({'sha256': 'g' * 64}, 'hexadecimal'),
    ({'sha256': 10 ** 63}, 'hexadecimal'),
    ({'md5sum': '0' * 31 + '\n'}, 'its md5sum'),
    ({'md5sum': '0' * 64}, 'it must have 32'),
    ({'image_name': 'arch'}, 'there is no image "arch"'),
    ({'image_name': ''}, 'there is no image ""'),
    ({'image_name': ['debian']}, "there is no image ['debian']"),
    ({'image_name': 'stock'}, 'has the type "cloud"'),
    ({'image_name': 'central'}, 'is defined in example.com/config'),
])
def test_wrong_metadata_are_a_problem(find, metadata, words):
    images, (problem,) = find(
        makeArtifact('bad', **metadata), makeArtifact())
    assert [image.url for image in images] == [URL]
    assert problem.startswith(
        'The artifact "bad" of the job build is ignored ')
    assert words in problem
    assert len(problem) < 400


@pytest.mark.parametrize('url', [
    None, 3, '', 'debian.raw?key=secret', '//host/x?secret', 'https:',
    'c:/secret', 'https://[secret', '\0secret'])
def test_wrong_url_is_a_problem(find, url):
    images, (problem,) = find(makeArtifact('bad', url), makeArtifact())
    assert [image.url for image in images] == [URL]
    assert 'The artifact "bad"' in problem
    assert 'URL' in problem
    assert 'secret' not in problem


@pytest.mark.parametrize('remove', ['name', 'url'])
def test_attribute_that_is_missing(find, remove):
    artifact = makeArtifact('bad')
    del artifact[remove]
    images, (problem,) = find(artifact, makeArtifact())
    assert len(images) == 1
    assert 'a name and a URL' in problem


def test_job_of_an_unknown_image(find):
    images, (problem,) = find(
        makeArtifact(image_name='debian'), image='gone')
    assert images == []
    assert 'no image "gone", which is the "image-build-name" of' in problem


@pytest.mark.parametrize('data', [
    {}, {'zuul': None}, {'zuul': []}, {'zuul': {'artifacts': None}},
    {'zuul': {'artifacts': {'a': makeArtifact()}}}])
def test_result_of_wrong_type_has_no_images(data):
    build = types.SimpleNamespace(job=None, result_data=data)
    assert findImages(build, None) == ([], [])


def test_log_url_of_wrong_type_is_ignored(find):
    assert getOne(find(makeArtifact(), log_url=3)).url == URL
