"""What tenants may use of what an account of AWS can reach."""

import hashlib

import pytest

pytest.importorskip('moto', reason='only some environments have it')

from tests.emulators.aws import ARTIFACTS, UPLOADS
from tests.fixtures.layout import makeLayout
from tests.unit.drivers.aws.sites import LAYOUT, makeConnection
from zuul_nodes.configloader.errors import BoundError
from zuul_nodes.drivers import PermanentError

OTHER = '999999999999'
PROFILE = 'arn:aws:iam::123456789012:instance-profile/admin'
DISK = b'a disk'
MD5 = hashlib.md5(DISK).hexdigest()
SHA256 = hashlib.sha256(DISK).hexdigest()
TAGS = {'zuul_system_id': 'system', 'zuul_upload_uuid': '1'}


def load(image='image-id: ami-1', label='', **options):
    text = (LAYOUT.replace('image-id: IMAGE', image).replace('LABEL', label)
            .replace('FLAVOR', ''))
    layout = makeLayout(text)
    config, = layout.provider_configs.values()
    return config.flattenConfig(layout, {'aws': makeConnection(**options)})


@pytest.mark.parametrize(('options', 'attributes', 'refused'), [
    ({}, {'image': f'image-owners: ["{OTHER}"]\n        image-id: a'}, None),
    ({}, {'image': 'image-id: resolve:ssm:/a'}, None),
    ({}, {'label': f'iam-instance-profile: {{arn: "{PROFILE}"}}'}, None),
    ({'image_owners': 'self'}, {'image': 'image-id: ami-1'}, None),
    ({'image_owners': 'self'}, {
        'image': 'image-owners: self\n        image-id: a'}, None),
    ({'image_owners': 'self'}, {
        'image': f'image-owners: "{OTHER}"\n        image-id: a'},
     f'its image "base" has the owner "{OTHER}"'),
    ({'image_owners': 'self'}, {
        'image': f'image-owners: [self, "{OTHER}"]\n        image-id: a'},
     f'its image "base" has the owner "{OTHER}"'),
    ({'image_owners': 'self'}, {'image': 'image-id: resolve:ssm:/a'},
     'whose owner is unknown'),
    ({'instance_profiles': 'a, node'}, {
        'label': 'iam-instance-profile: {name: node}'}, None),
    ({'instance_profiles': PROFILE}, {
        'label': f'iam-instance-profile: {{arn: "{PROFILE}"}}'}, None),
    ({'instance_profiles': ''}, {}, None),
    ({'instance_profiles': ''}, {
        'label': 'iam-instance-profile: {name: admin}'},
     'its label "small" has the instance profile "admin"'),
    # An ARN says of which account it is, and a name does not.
    ({'instance_profiles': 'admin'}, {
        'label': f'iam-instance-profile: {{arn: "{PROFILE}"}}'},
     f'the instance profile "{PROFILE}"'),
    ({'buckets': UPLOADS}, {}, None),
    ({'buckets': 'other'}, {},
     f'its "object-storage" has the bucket "{UPLOADS}"'),
])
def test_a_tenant_uses_what_the_operator_allows(
        options, attributes, refused):
    if refused is None:
        load(**attributes, **options)
        return
    with pytest.raises(BoundError) as info:
        load(**attributes, **options)
    message = str(info.value)
    option, = options
    assert refused in message
    assert f'"{option}" of [connection aws] in zuul.conf' in message
    assert 'project example.com/nodes, branch main, file ' in message


@pytest.fixture
def images(aws):
    """:return: ids of images: ours, and one of somebody else."""
    ours = aws.backend.register_image('debian-1')
    other = aws.backend.register_image('debian-2')
    other.owner_id = OTHER
    other.launch_permissions.append({'Group': 'all'})
    return ours.id, other.id


@pytest.fixture
def find(makeAwsSite):
    """:return: a function that gives the id of what is found for attributes
        of an image, with a bound."""
    def find(bound, **attributes):
        site = makeAwsSite(image_owners=bound)
        image = site.provider.images['base']
        vars(image).update({'image_id': None, 'image_filters': None,
                            'image_owners': []} | attributes)
        return site.endpoint._getImageId(image)
    return find


FILTERS = [{'name': 'name', 'values': ['debian-*']}]


@pytest.mark.parametrize('bound', ['self', f'self, {OTHER}', OTHER])
def test_an_image_is_of_an_owner_that_is_allowed(find, images, bound):
    ours, other = images
    if 'self' in bound:
        assert find(bound, image_id=ours) == ours
    if OTHER in bound:
        assert find(bound, image_id=other) == other
    if bound in ('self', OTHER):
        # What else would be found is not looked at.
        expected, = {ours if bound == 'self' else other}
        assert find(bound, image_filters=FILTERS) == expected
        assert find(bound, image_id='debian-*') == expected


@pytest.mark.parametrize('bound', ['self', 'amazon', ''])
def test_an_image_of_another_owner_is_not_used(find, images, bound):
    _, other = images
    for attributes in (
            {'image_id': other}, {'image_id': 'debian-2'},
            {'image_id': 'debian-2', 'image_owners': [OTHER]},
            {'image_filters': FILTERS, 'image_owners': [OTHER]},
            {'image_filters': [{'name': 'image-id', 'values': [other]}]}):
        with pytest.raises(PermanentError, match=(
                r'there is no image with|"image_owners" of the .* allows no')):
            find(bound, **attributes)


def test_a_job_can_not_have_an_image_of_another_bucket(
        makeAwsSite, aws, tmp_path):
    aws.s3.put_object(Bucket=ARTIFACTS, Key='disk.raw', Body=b'disk')
    site = makeAwsSite(buckets=UPLOADS)
    path = str(tmp_path / 'file')
    url = f's3://{ARTIFACTS}/disk.raw'
    for method, arguments in (
            (site.provider.getImageImportJob,
             (url, site.provider.images['built'], 'built', 'raw', TAGS, None,
              None)),
            (site.provider.downloadUrl, (url, path))):
        with pytest.raises(PermanentError, match=(
                f'{url} is in the bucket "{ARTIFACTS}", which "buckets" of '
                r'\[connection aws\] in zuul.conf does not allow')):
            method(*arguments)
    assert site.provider.downloadUrl('https://example.com/disk', path) is None
    site = makeAwsSite(buckets=f'{UPLOADS} {ARTIFACTS}')
    assert site.provider.downloadUrl(url, path) == path


@pytest.mark.parametrize(('etag', 'checksums', 'is_imported'), [
    (None, (None, None), True),
    (None, (MD5, None), True),
    (None, (MD5.upper(), SHA256), True),
    # S3 does not tell it.
    (None, (None, SHA256), False),
    (None, ('0' * 32, None), False),
    (None, ('0' * 32, SHA256), False),
    # Of an object that was uploaded in parts it has no MD5.
    (f'"{MD5}-2"', ('0' * 32, None), True),
])
def test_an_object_with_another_md5_is_not_imported(
        makeAwsSite, aws, etag, checksums, is_imported):
    """Then the launcher downloads it, which says what is wrong."""
    aws.s3.put_object(Bucket=ARTIFACTS, Key='disk.raw', Body=DISK)
    if etag:
        aws.storage.buckets[ARTIFACTS].keys['disk.raw']._etag = etag
    site = makeAwsSite()
    job = site.provider.getImageImportJob(
        f's3://{ARTIFACTS}/disk.raw', site.provider.images['built'], 'built',
        'raw', TAGS, *checksums)
    assert (job is not None) is is_imported


@pytest.mark.parametrize('name', ['missing', 'disk.raw'])
def test_an_object_that_can_not_be_verified_is_not_imported_if_it_has_to_be(
        makeAwsSite, aws, name):
    aws.s3.put_object(Bucket=ARTIFACTS, Key='disk.raw', Body=DISK)
    aws.storage.buckets[ARTIFACTS].keys['disk.raw']._etag = f'"{MD5}-2"'
    site = makeAwsSite()
    site.connection.driver.require_image_checksums = True
    assert site.provider.getImageImportJob(
        f's3://{ARTIFACTS}/{name}', site.provider.images['built'], 'built',
        'raw', TAGS, MD5, None) is None


def test_an_object_that_the_launcher_may_not_look_at_is_imported(
        makeAwsSite, aws):
    """AWS reads it with a role of its own."""
    aws.denied.add(f'/{ARTIFACTS}/missing')
    site = makeAwsSite()
    assert site.provider.getImageImportJob(
        f's3://{ARTIFACTS}/missing', site.provider.images['built'], 'built',
        'raw', TAGS, MD5, None)
