"""The emulator refuses what AWS refuses."""

from botocore.exceptions import ClientError
import pytest

DISK = {'DeviceName': '/dev/sda1'}
LAUNCH = {'MinCount': 1, 'MaxCount': 1}


def tag(key, value=''):
    return {'TagSpecifications': [{'ResourceType': 'image', 'Tags': [
        {'Key': key, 'Value': value}]}]}


def disk(**kwargs):
    return {'BlockDeviceMappings': [DISK | {'Ebs': kwargs}]}


@pytest.mark.parametrize(('method', 'kwargs', 'code'), [
    ('describe_hosts', {'Filter': [
        {'Name': 'tag:zuul_node_uuid', 'Values': ['x']}]},
     'InvalidParameterValue'),
    ('describe_hosts', {'Filter': [{'Name': 'client-token', 'Values': ['x']}]},
     'NotImplemented'),
    ('describe_images', {'Filters': [{'Name': 'nmae', 'Values': ['x']}]},
     'InvalidParameterValue'),
    ('describe_images', {'ImageIds': ['resolve:ssm:x']},
     'InvalidAMIID.Malformed'),
    ('register_image', {'Name': 'x' * 129}, 'InvalidAMIName.Malformed'),
    ('register_image', {'Name': 'debian:12'}, 'InvalidAMIName.Malformed'),
    ('register_image', {'Name': 'base'}, 'InvalidAMIName.Duplicate'),
    ('register_image', {'Name': 'other', **tag('k' * 129)},
     'InvalidParameterValue'),
    ('register_image', {'Name': 'other', **tag('k', 'v' * 257)},
     'InvalidParameterValue'),
    ('register_image', {'Name': 'other', **tag('AWS:k')},
     'InvalidTagKey.Malformed'),
    ('run_instances', {'ClientToken': 'x' * 65}, 'InvalidParameterValue'),
    ('run_instances', {'ClientToken': 'ü'}, 'InvalidParameterValue'),
    ('run_instances', {'ImageId': 'ami-0123456789abcdef0'},
     'InvalidAMIID.NotFound'),
    ('run_instances', {'NetworkInterfaces': [{'DeviceIndex': 0}],
                       'SecurityGroupIds': ['sg-1']},
     'InvalidParameterCombination'),
    ('run_instances', disk(VolumeSize=20, Throughput=125),
     'InvalidParameterValue'),
    ('run_instances', disk(VolumeSize=20, VolumeType='gp3', Iops=100),
     'InvalidParameterValue'),
    ('run_instances', disk(VolumeSize=20, VolumeType='gp9'),
     'UnknownVolumeType'),
    ('create_launch_template', {
        'LaunchTemplateName': 'x', 'LaunchTemplateData': {}},
     'InvalidLaunchTemplateName.MalformedException'),
])
def test_refusals(aws, method, kwargs, code):
    image_id = aws.getImage('base')
    if method == 'run_instances':
        kwargs = LAUNCH | {'ImageId': image_id} | kwargs
    with pytest.raises(ClientError) as info:
        getattr(aws.ec2, method)(**kwargs)
    assert info.value.response['Error']['Code'] == code


def test_disk_that_is_smaller_than_its_snapshot(aws):
    image_id = aws.getImage('base')
    image, = aws.ec2.describe_images(ImageIds=[image_id])['Images']
    snapshot = image['BlockDeviceMappings'][0]['Ebs']['SnapshotId']
    with pytest.raises(ClientError, match='InvalidBlockDeviceMapping'):
        aws.ec2.run_instances(**LAUNCH, ImageId=image_id, **disk(
            SnapshotId=snapshot, VolumeSize=1))


def test_documented_filters(aws):
    filters = [{'Name': 'tag:team', 'Values': ['x']},
               {'Name': 'instance-state-name', 'Values': ['running']}]
    assert not aws.ec2.describe_instances(Filters=filters)['Reservations']
