"""Images of the cloud, and those that Zuul makes."""

import copy
import datetime
import hashlib
import types

import pytest
from zuul.driver.aws import awsendpoint

from tests.emulators.aws import ARTIFACTS, UPLOADS
from tests.emulators.aws.imports import STEPS
from zuul_nodes.drivers import DriverError, GoneError, PermanentError
from zuul_nodes.launcher.providers.failures import Failure, classify, isGone

DATA = b'a disk' * 100
UPLOAD = 'fedcba9876543210fedcba9876543210'
NAME = f'built-{UPLOAD}'
TAGS = {'zuul_system_id': 'system', 'zuul_upload_uuid': UPLOAD}


class TestCloud:
    @pytest.fixture
    def find(self, site, aws):
        """:return: a function that gives the name of what is found for
            attributes of an image."""
        # As of long ago; names are of the owners.
        for number, (owner, name) in enumerate([
                ('self', 'debian-12-1'), ('self', 'debian-12-2'),
                ('self', 'debian-11-3'), ('999999999999', 'debian-12-4')]):
            image = aws.backend.register_image(name)
            image.creation_date = datetime.datetime(2024, 1, number + 1)
            if owner != 'self':
                image.owner_id = owner
                image.launch_permissions.append({'Group': 'all'})

        def find(**attributes):
            image = site.provider.images['base']
            vars(image).update({'image_id': None, 'image_filters': None,
                                'image_owners': []} | attributes)
            return aws.backend.amis[site.endpoint._getImageId(image)].name
        return find

    def test_name(self, find):
        assert find(image_id='debian-12-1') == 'debian-12-1'

    def test_newest_of_a_pattern(self, find):
        """Nobody else can make one that is used."""
        assert find(image_id='debian-12-*') == 'debian-12-2'

    def test_owner(self, find):
        assert find(image_id='debian-*',
                    image_owners=['999999999999']) == 'debian-12-4'

    def test_filters(self, find):
        filters = [{'name': 'name', 'values': ['debian-1?-*']}]
        assert find(image_filters=filters) == 'debian-12-4'
        assert find(image_filters=filters,
                    image_owners=['self']) == 'debian-11-3'

    def test_those_that_are_not_there_yet(self, find, aws):
        image = aws.backend.register_image('debian-12-9')
        image.state = 'pending'
        assert find(image_id='debian-12-*') == 'debian-12-2'

    def test_none(self, find):
        with pytest.raises(PermanentError, match=(
                r'Image "base".*name fedora-.*owner self or amazon')):
            find(image_id='fedora-*')

    def test_is_asked_once(self, find, aws):
        before = aws.calls['DescribeImages']
        for _ in range(2):
            find(image_id='debian-12-*')
        assert aws.calls['DescribeImages'] == before + 1


class TestParameters:
    """The id of an image is in Systems Manager."""

    @pytest.fixture
    def put(self, aws):
        """:return: a function that sets a parameter."""
        client = aws.getClient('ssm')
        return lambda name, value: client.put_parameter(
            Name=name, Value=value, Type='String', Overwrite=True)

    def test_instance(self, makeSite, aws, put):
        image_id = aws.getImage('other')
        put('/images/debian', image_id)
        site = makeSite(image='resolve:ssm:/images/debian')
        node = site.create()
        instance, = site.getInstances()
        assert instance.image_id == image_id
        assert node.node_properties['ebs_volume_id']

    def test_is_asked_once(self, makeSite, aws, put):
        put('debian', aws.getImage('other'))
        site = makeSite(image='resolve:ssm:debian')
        image = site.provider.images['base']
        found = {site.endpoint._getImageId(image)}
        put('debian', 'ami-0123456789')
        found.add(site.endpoint._getImageId(image))
        assert len(found) == 1

    def test_none(self, makeSite, aws):
        with pytest.raises(PermanentError, match='ParameterNotFound'):
            makeSite(image='resolve:ssm:/images/debian').create()

    def test_is_no_image(self, makeSite, aws, put):
        """What tenants may not see stays unseen."""
        put('/password', 'SECRET')
        with pytest.raises(PermanentError, match=(
                'Image "base": the parameter /password')) as info:
            makeSite(image='resolve:ssm:/password').create()
        assert 'SECRET' not in str(info.value)


@pytest.fixture
def url(aws):
    aws.s3.put_object(Bucket=ARTIFACTS, Key='disk.raw', Body=DATA)
    return f's3://{ARTIFACTS}/disk.raw'


def getChecksums():
    return hashlib.md5(DATA).hexdigest(), hashlib.sha256(DATA).hexdigest()


def getJob(site, url, method='snapshot', format='raw', checksums=None):
    image = site.provider.images['built']
    image.import_method = method
    return site.provider.getImageImportJob(
        url, image, NAME, format, TAGS, *(checksums or getChecksums()))


def importImage(*args, **kwargs):
    return getJob(*args, **kwargs).run()


class TestImports:
    @pytest.mark.parametrize('method', ['snapshot', 'image'])
    def test_import(self, site, aws, url, method):
        image_id = importImage(site, url, method)
        image, = aws.ec2.describe_images(ImageIds=[image_id])['Images']
        snapshot = image['BlockDeviceMappings'][0]['Ebs']['SnapshotId']
        for thing in (image, aws.ec2.describe_snapshots(
                SnapshotIds=[snapshot])['Snapshots'][0]):
            assert {tag['Key']: tag['Value']
                    for tag in thing['Tags']} == TAGS
        site.provider.deleteImage(image_id)
        assert not {image_id, snapshot} & set(aws.list())
        # It is somebody else's.
        assert 'disk.raw' in aws.storage.buckets[ARTIFACTS].keys

    @pytest.mark.parametrize('method', ['snapshot', 'image'])
    def test_failure(self, site, aws, url, method):
        before = aws.list()
        aws.imports.failure = 'ClientError: Unknown OS'
        with pytest.raises(Exception, match='Unknown OS'):
            importImage(site, url, method)
        assert aws.list() == before

    @pytest.mark.parametrize(('code', 'failure'), [
        ('Throttling', Failure.TEMPORARY),
        ('UnauthorizedOperation', Failure.ATTEMPT)])
    def test_answers_of_aws(self, site, aws, url, code, failure):
        """The launcher knows none of the codes."""
        aws.inject('ImportSnapshot', code)
        with pytest.raises(DriverError, match=code) as info:
            importImage(site, url)
        assert classify(info.value) is failure

    @pytest.mark.parametrize('method', ['snapshot', 'image'])
    def test_goes_on_with_what_was_begun(self, site, aws, url, method):
        """A launcher has died meanwhile; others' tasks have no tags."""
        client = aws.getClient('ec2')
        place = {'UserBucket': {'S3Bucket': ARTIFACTS, 'S3Key': 'disk.raw'}}
        tags = [{'Key': key, 'Value': value} for key, value in TAGS.items()]
        for more in ({}, {'TagSpecifications': [{
                'ResourceType': f'import-{method}-task', 'Tags': tags}]}):
            if method == 'snapshot':
                client.import_snapshot(DiskContainer=place, **more)
            else:
                client.import_image(DiskContainers=[place], **more)
        importImage(site, url, method)
        assert len(aws.imports.tasks) == 2

    @pytest.mark.parametrize('method', ['snapshot', 'image'])
    def test_goes_not_on_with_what_has_failed(self, site, aws, url, method):
        aws.imports.failure = 'ClientError: Unknown OS'
        with pytest.raises(Exception, match='Unknown OS'):
            importImage(site, url, method)
        aws.imports.failure = None
        assert importImage(site, url, method) in aws.backend.amis

    @pytest.mark.parametrize('method', ['snapshot', 'image'])
    def test_never_comes_to_its_end(self, site, aws, url, method):
        aws.imports.steps = STEPS[:1] * 10 ** 6
        site.provider.images['built'].import_timeout = 0.01
        with pytest.raises(DriverError, match=(
                r'Image built is not available after 0\.01 s')):
            importImage(site, url, method)

    def test_nobody_waits_any_more(self, site, aws, url, monkeypatch):
        monkeypatch.setattr(
            awsendpoint.AwsProviderEndpoint, 'IMAGE_UPLOAD_SLEEP', 600)
        site.endpoint.waits.stop()
        with pytest.raises(DriverError, match='because the endpoint stops'):
            importImage(site, url)

    def test_copy_never_comes_to_its_end(self, site):
        """AWS has forgotten it."""
        image = site.provider.images['built']
        image.import_timeout = 0.01
        source = types.SimpleNamespace(endpoint=copy.copy(site.endpoint))
        source.endpoint.region = 'eu-west-1'
        site.endpoint._getOrStartCopyImage = lambda *args: 'ami-0'
        job = site.provider.getImageCopyJob(
            source, image, NAME, 'raw', TAGS, *getChecksums())
        with pytest.raises(DriverError, match='import-timeout'):
            job.run('ami-1')

    def test_images_that_are_not_there_yet(self, site, aws, url):
        """Nodes of it would be refused."""
        states = ['pending', 'pending']

        def finish(get):
            for image in aws.backend.amis.values():
                if image.name == NAME:
                    image.state = states.pop() if states else 'available'
        aws.inject('DescribeImages', 'Unused', when=finish)
        image_id = importImage(site, url)
        assert aws.backend.amis[image_id].state == 'available'
        assert not states

    def test_images_that_come_to_nothing(self, site, aws, url):
        def fail(get):
            for image in aws.backend.amis.values():
                if image.name == NAME:
                    image.state = 'failed'
        aws.inject('DescribeImages', 'Unused', when=fail)
        with pytest.raises(DriverError, match=r'image ami-.* is failed'):
            importImage(site, url)

    @pytest.mark.parametrize('method', ['snapshot', 'image'])
    def test_upload(self, site, aws, tmp_path, method):
        path = tmp_path / 'disk'
        path.write_bytes(DATA)
        image = site.provider.images['built']
        image.import_method = method
        image_id = site.provider.getImageUploadJob(
            image, NAME, 'raw', TAGS, *getChecksums()).run(str(path))
        assert image_id in aws.backend.amis
        assert not aws.storage.buckets[UPLOADS].keys

    def test_snapshot_of_a_node(self, site, aws):
        node = site.create()
        volume = node.node_properties['ebs_volume_id']
        snapshot = aws.ec2.create_snapshot(VolumeId=volume, TagSpecifications=[
            {'ResourceType': 'snapshot',
             'Tags': [{'Key': 'a', 'Value': 'b'}]}])['SnapshotId']
        image_id = importImage(
            site, f'arn:aws:ec2:us-east-1:1:snapshot/{snapshot}',
            format='snapshot')
        assert aws.backend.amis[image_id].ebs_snapshot.id == snapshot


    def test_an_image_of_another_format_is_no_snapshot(self, site):
        """Nobody has seen to it that the snapshot is one of the tenant's."""
        assert site.provider.getImageImportJob(
            'arn:aws:ec2:us-east-1:1:snapshot/snap-1',
            site.provider.images['built'], NAME, 'raw', TAGS, None,
            None) is None


class TestSourcesThatAreGone:
    """AWS has what an image was to be made of no more."""

    @pytest.mark.parametrize('method', ['snapshot', 'image'])
    def test_object(self, site, aws, url, method):
        job = getJob(site, url, method)
        aws.s3.delete_object(Bucket=ARTIFACTS, Key='disk.raw')
        with pytest.raises(GoneError, match=url):
            job.run()

    def test_object_that_goes_while_it_is_imported(self, site, aws, url):
        aws.imports.failure = 'ClientError: Disk validation failed'

        def delete(get):
            if aws.imports.tasks:
                aws.s3.delete_object(Bucket=ARTIFACTS, Key='disk.raw')
        aws.inject('DescribeImportSnapshotTasks', 'Unused', when=delete)
        with pytest.raises(GoneError, match='Disk validation failed'):
            importImage(site, url)

    @pytest.mark.parametrize('bucket', [ARTIFACTS, 'nowhere'])
    @pytest.mark.parametrize('checksums', [(None, None), getChecksums()])
    def test_the_launcher_asks_everybody_before_an_import(
            self, site, tmp_path, bucket, checksums):
        url = f's3://{bucket}/missing'
        assert getJob(site, url, checksums=checksums) is None
        with pytest.raises(DriverError) as info:
            site.provider.downloadUrl(url, str(tmp_path / 'file'))
        assert isGone([ValueError('No web server'), info.value])

    @pytest.mark.parametrize('url', [
        'arn:aws:ec2:us-east-1:1:snapshot/snap-0123456789',
        f's3://{ARTIFACTS}/snap-0123456789'])
    def test_snapshot_is_imported_because_it_has_no_file_to_download(
            self, site, url):
        with pytest.raises(GoneError, match='snap-0123456789'):
            importImage(site, url, format='snapshot', checksums=(None, None))

    def test_what_can_not_be_looked_at_may_be_there(self, site, aws):
        aws.denied.add(f'/{ARTIFACTS}/disk.raw')
        with pytest.raises(PermanentError, match='InvalidParameter') as info:
            importImage(site, f's3://{ARTIFACTS}/disk.raw')
        assert not isinstance(info.value, GoneError)

    def test_what_is_there_is_not_gone(self, site, aws, url):
        aws.inject('ImportSnapshot', 'InvalidParameter')
        with pytest.raises(PermanentError, match='InvalidParameter') as info:
            importImage(site, url)
        assert not isinstance(info.value, GoneError)


class TestDeletion:
    def test_what_is_in_no_list_yet(self, site, aws, url):
        """An old list says nothing of a new image."""
        site.endpoint._listAmis()
        image_id = importImage(site, url)
        site.endpoint._listAmis = site.endpoint._listSnapshots = list
        snapshot = aws.backend.amis[image_id].ebs_snapshot.id
        site.provider.deleteImage(image_id)
        assert not {image_id, snapshot} & set(aws.list())

    @pytest.mark.parametrize('image_id', ['ami-0123456789', 'ami', None])
    def test_what_is_gone(self, site, image_id):
        site.provider.deleteImage(image_id)

    def test_refused(self, site, aws, url):
        image_id = importImage(site, url)
        aws.inject('DeregisterImage', 'UnauthorizedOperation', times=1)
        with pytest.raises(DriverError, match='UnauthorizedOperation'):
            site.provider.deleteImage(image_id)
        site.provider.deleteImage(image_id)
        assert image_id not in aws.backend.amis

    def test_snapshot_that_others_use(self, site, aws, url):
        image_id = importImage(site, url)
        aws.inject('DeleteSnapshot', 'InvalidSnapshot.InUse')
        site.provider.deleteImage(image_id)
        assert image_id not in aws.backend.amis
