"""What there is in the cloud: what leaks, and what may be used."""

import pytest

from tests.emulators.aws import ARTIFACTS, INSTANCE_QUOTA, UPLOADS
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.aws.sites import LAYOUT
from zuul_nodes.drivers import DriverError

TAGS = {'zuul_system_id': 'system', 'zuul_upload_uuid': 'upload'}
TAG_LIST = [{'Key': key, 'Value': value} for key, value in TAGS.items()]
KINDS = {'DescribeHosts': 'host', 'DescribeInstances': 'instance',
         'DescribeVolumes': 'volume', 'DescribeImages': 'ami',
         'DescribeSnapshots': 'snapshot'}
TAGGING = 'zuul_system_id=system&zuul_upload_uuid=upload'


@pytest.fixture
def leak(site, aws):
    """Make one of each kind, ours and somebody else's.

    :return: type -> id of ours.
    """
    client = aws.ec2
    ours = {'instance': site.create().aws_instance_id}
    for mine in (True, False):
        def tag(kind, mine=mine):
            return {'TagSpecifications': [
                {'ResourceType': kind, 'Tags': TAG_LIST}]} if mine else {}
        made = {
            'volume': client.create_volume(
                Size=1, AvailabilityZone='us-east-1a',
                **tag('volume'))['VolumeId'],
            'ami': client.register_image(
                Name=f'mine-{mine}', **tag('image'))['ImageId'],
            'host': client.allocate_hosts(
                AvailabilityZone='us-east-1a', InstanceType='t3.medium',
                Quantity=1, **tag('dedicated-host'))['HostIds'][0],
            'object': f'mine-{mine}'}
        made['snapshot'] = client.create_snapshot(
            VolumeId=made['volume'], **tag('snapshot'))['SnapshotId']
        aws.s3.put_object(Bucket=UPLOADS, Key=made['object'], Body=b'',
                          **{'Tagging': TAGGING} if mine else {})
        if mine:
            ours |= made
    return ours


def list_(site):
    return list(site.endpoint.listResources([site.provider]))


def listOurs(site):
    return [each for each in list_(site)
            if each.metadata.get('zuul_system_id') == 'system']


def test_each_kind(site, aws, leak):
    found = listOurs(site)
    ids = {(str(each.type), each.id) for each in found}
    assert leak.items() <= ids
    # Besides, the volume of the instance.
    assert len(ids) == len(leak) + 1
    for each in found:
        site.endpoint.deleteResource(each)
    assert not set(leak.values()) & set(aws.list())
    # All others are there still.
    assert 'mine-False' in aws.storage.buckets[UPLOADS].keys


def test_what_is_gone_already(site, leak):
    found = listOurs(site)
    for _ in range(2):
        for each in found:
            site.endpoint.deleteResource(each)


@pytest.mark.parametrize('action', [*KINDS, 'DescribeLaunchTemplates'])
def test_one_kind_that_may_not_be_listed(site, aws, leak, action):
    """It is not in the way of others, and the reader knows."""
    aws.inject(action, 'UnauthorizedOperation')
    # For a while, the last list will do.
    for listing in (site.endpoint.listing, site.endpoint.hosts,
                    site.endpoint.volumes):
        listing.failure_timeout = -1
    found, error = waitFor(lambda: _listUntilError(site))
    assert 'UnauthorizedOperation' in str(error)
    assert {str(each.type) for each in found} >= leak.keys() - {
        KINDS.get(action)}


def test_nothing_is_known_yet(site, aws):
    """Nodes can wait; who looks for leaks or counts has to know."""
    aws.inject('DescribeInstances', 'InternalError')
    assert not site.endpoint._listInstances()
    with pytest.raises(DriverError, match='InternalError'):
        list(site.endpoint.listInstances())
    _, error = _listUntilError(site)
    assert 'instance: AWS: injected (InternalError)' in str(error)


def _listUntilError(site):
    found = []
    try:
        for each in site.endpoint.listResources([site.provider]):
            found.append(each)
    except DriverError as error:
        return found, error
    return None


def test_deletion_is_refused(site, aws, leak):
    """It is not said to be done."""
    resource = next(each for each in listOurs(site) if each.type == 'volume')
    aws.inject('DeleteVolume', 'VolumeInUse')
    with pytest.raises(DriverError, match='VolumeInUse'):
        site.endpoint.deleteResource(resource)


@pytest.mark.parametrize('method', ['snapshot', 'image'])
def test_what_an_import_has_left(site, aws, method):
    """The launcher that has begun it has died, and it has no tags."""
    aws.s3.put_object(Bucket=ARTIFACTS, Key='disk', Body=b'')
    place = {'UserBucket': {'S3Bucket': ARTIFACTS, 'S3Key': 'disk'}}
    tags = {'TagSpecifications': [
        {'ResourceType': f'import-{method}-task', 'Tags': TAG_LIST}]}
    if method == 'snapshot':
        aws.ec2.import_snapshot(DiskContainer=place, **tags)
        describe = aws.ec2.describe_import_snapshot_tasks
    else:
        aws.ec2.import_image(DiskContainers=[place], **tags)
        describe = aws.ec2.describe_import_image_tasks
    for _ in range(3):
        describe()
    kinds = {'snapshot'} if method == 'snapshot' else {'snapshot', 'ami'}
    found = waitFor(lambda: [
        each for each in listOurs(site) if each.metadata == TAGS
        and {each.type for each in listOurs(site)} >= kinds])
    assert {each.type for each in found} == kinds


def test_objects_are_looked_at_once(site, aws):
    for number in range(3):
        aws.s3.put_object(Bucket=UPLOADS, Key=str(number), Body=b'',
                          Tagging=TAGGING)
    assert len(listOurs(site)) == 3

    def count():
        # Threads of Zuul's ask for other things at any time.
        return sum(path.startswith(f'/{UPLOADS}') for path in aws.paths)
    before = count()
    assert len(listOurs(site)) == 3
    # One list, and nothing for each.
    assert count() == before + 1


# Quota

def test_limits_are_as_they_are(site, aws):
    """Not as they were when they were last asked for."""
    for limit in (7.0, 9.0):
        aws.quotas[INSTANCE_QUOTA] = limit
        assert site.endpoint.refreshQuotaLimits(True)
        waitFor(lambda limit=limit: site.provider.getEndpointLimits()
                .getResources().get(INSTANCE_QUOTA) == limit)
    assert not site.endpoint.refreshQuotaLimits(False)


def test_instances_of_types_that_are_not_told(site, aws):
    """They are not in the way of others."""
    site.create()
    site.endpoint._getInstanceType.cache_clear()
    aws.inject('DescribeInstanceTypes', 'UnauthorizedOperation')
    instance, = waitFor(lambda: list(site.endpoint.listInstances()))
    assert instance.quota.quota['instances'] == 1


def test_labels_of_a_type_that_does_not_exist(makeSite):
    """What they need is not made up, so that requests for them fail."""
    site = makeSite(text=LAYOUT.replace('t3.medium', 't3.meduim'))
    label = site.provider.labels['small']
    for update in (False, True):
        site.provider.refreshQuotaForLabel(label, update)
    with pytest.raises(KeyError, match=r't3\.meduim'):
        site.provider.getQuotaForLabel(label)


def test_no_call_goes_on_for_ever(makeSite):
    site = makeSite(api_timeout='7')
    endpoint = site.endpoint
    for client in (endpoint.ec2_client, endpoint.s3_client, endpoint.s3.meta
                   .client, endpoint.ebs_client, endpoint.sts_client,
                   endpoint.s3_global_client, endpoint.aws_quotas):
        config = client.meta.config
        assert (config.connect_timeout, config.read_timeout) == (7, 7)


# Nodes that are ready

def test_an_instance_that_does_not_run_any_more_is_told(site, aws):
    node = site.create()
    instance, = site.endpoint.listInstances()
    assert instance.problem is None
    aws.ec2.stop_instances(InstanceIds=[node.aws_instance_id])

    def getProblem():
        instance, = site.endpoint.listInstances()
        return instance.problem
    waitFor(lambda: getProblem() == 'its instance is stopped')
