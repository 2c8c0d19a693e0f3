"""Names that people choose, in the name spaces of AWS."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st
import pytest

from tests.emulators.aws.strict import AMI_NAME, TAG_KEY, TAG_VALUE
from tests.fixtures.examples import countExamples
from tests.unit.drivers.aws.sites import FLEET, LAYOUT
from zuul_nodes.drivers.aws import names

UPLOAD = 'f' * 32
TAGS = {'zuul_system_id': 'system', 'zuul_upload_uuid': UPLOAD}
ALLOWED = {
    names.IMAGES: AMI_NAME,
    names.OBJECTS: re.compile(r'(?!\.)[A-Za-z0-9_.\-]{1,128}'),
    names.TAG_KEYS: re.compile(rf'(?!(?i:aws:))[^\x00-\x1f]{{1,{TAG_KEY}}}'),
    names.TAG_VALUES: re.compile(rf'[^\x00-\x1f]{{0,{TAG_VALUE}}}')}
# As long as the loader lets the names of images be, and longer.
texts = st.text(max_size=300) | st.text('ab-:', max_size=6) | st.builds(
    lambda text, number: text[:1] * number, st.text(), st.integers(0, 300))


@pytest.mark.parametrize('space', ALLOWED, ids=[
    'images', 'objects', 'tag keys', 'tag values'])
@settings(max_examples=countExamples(2000), deadline=None)
@given(first=texts, second=texts)
@example('', 'aws:')
@example('AWS:x', '-x')
@example('\U0001f600' * 250, '\U0001f600' * 249)
@example('x' * 250, 'x' * 251)
@example('\udcff', '\x00')
@example('..', '.')
def test_fit(space, first, second):
    for name in (first, second):
        fitted = names.fit(name, space)
        assert ALLOWED[space].fullmatch(fitted)
        assert fitted == names.fit(name, space)
        assert fitted.encode() or not name
    assert (names.fit(first, space) == names.fit(second, space)) is (
        first == second)


@pytest.mark.parametrize('space', ALLOWED)
def test_no_name_is_like_what_another_becomes(space):
    fitted = names.fit('x' * 300, space)
    assert names.fit(fitted, space) != fitted


def test_good_names_stay():
    name = f'debian-12 (bookworm)/@x_1-{UPLOAD}'
    assert names.fit(name, names.IMAGES) == name
    assert names.fit('aws-cost: Büro', names.TAG_KEYS) == 'aws-cost: Büro'


@pytest.fixture
def make(site, tmp_path):
    """:return: a function that uploads an image of some name, and returns
        what AWS says of it."""
    path = tmp_path / 'disk'
    path.write_bytes(b'a disk' * 100)

    def make(name, tags=None):
        image_id = site.provider.getImageUploadJob(
            site.provider.images['built'], f'{name}-{UPLOAD}', 'raw',
            tags or TAGS, None, None).run(str(path))
        return site.aws.ec2.describe_images(
            ImageIds=[image_id])['Images'][0]
    return make


@pytest.mark.parametrize('name', [
    'debian:12', 'debian 12, büro', 'x' * 250, '../../x', "a'[b]"])
def test_images(make, aws, name):
    assert AMI_NAME.fullmatch(make(name)['Name'])
    paths = [path for path in aws.paths if path.startswith('/uploads/')]
    assert paths and not any('..' in path.split('/') for path in paths)


def test_tags_of_images(make):
    """S3 takes ten tags and AWS none of its own."""
    tags = {f'tag {number}': '' for number in range(20)}
    image = make('debian', {**tags, 'aws:x': 'y' * 300, **TAGS})
    found = {tag['Key']: tag['Value'] for tag in image['Tags']}
    assert found.items() >= (tags | TAGS).items()
    assert len(found) == 23


def test_tags_of_nodes(site, aws):
    node = site.makeNode()
    good = {'team': 'büro', **node.tags}
    node._set(tags={'aws:cost': 'x', 'k' * 200: 'v' * 300, **good})
    site.create(node)
    instance, = aws.ec2.describe_instances()['Reservations'][0]['Instances']
    found = {tag['Key']: tag['Value'] for tag in instance['Tags']}
    assert found.items() > good.items()
    # Besides, the name of the instance.
    assert len(found) == len(node.tags) + 1


def test_tags_of_templates(makeSite, aws):
    """Names of providers may be long."""
    site = makeSite(text=LAYOUT.replace(
        'instance-type: t3.medium', FLEET % ('t3.medium', 'prioritized')))
    site.provider._set(canonical_name='git.example.com/' + 'x' * 300)
    site.endpoint.postConfig(site.provider)
    template, = aws.ec2.describe_launch_templates()['LaunchTemplates']
    assert {tag['Key'] for tag in template['Tags']} == {
        'zuul_system_id', 'zuul_provider_name'}


class TestMadeBefore:
    """The answer to a call that makes an image is lost."""

    def test_is_ours(self, make, aws):
        image = make('debian')
        assert make('debian')['ImageId'] == image['ImageId']
        assert aws.calls['RegisterImage'] == 3

    def test_is_another_one(self, make, aws):
        make('debian')
        with pytest.raises(Exception, match=r'^AWS: AMI name .*Duplicate'):
            make('debian', {**TAGS, 'zuul_upload_uuid': 'other'})
