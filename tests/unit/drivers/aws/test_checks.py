"""What is said of a configuration before it is used."""

import io

import pytest

from tests.emulators.aws import UPLOADS
from tests.unit.drivers.aws.sites import LAYOUT
from zuul_nodes.cmd.check.asking import ask as askAll


def ask(site):
    """:return: (subject, name) -> what is wrong, of all that is."""
    return {(check.subject, check.name): said
            for check in site.provider.getChecks() if (said := check.ask())}


@pytest.fixture
def key(aws):
    aws.ec2.create_key_pair(KeyName='zuul')


@pytest.fixture
def names(aws):
    """:return: what there is of some kinds."""
    subnet = aws.ec2.describe_subnets()['Subnets'][0]
    group = aws.ec2.describe_security_groups()['SecurityGroups'][0]
    aws.getClient('iam').create_instance_profile(
        InstanceProfileName='node')
    return {'subnet': subnet['SubnetId'], 'zone': subnet['AvailabilityZone'],
            'group': group['GroupId']}


def test_all_is_right(makeSite, key, names):
    site = makeSite(
        flavor='market-type: spot', label=(
            f'subnet-ids: [{names["subnet"]}]\n        '
            f'az: {names["zone"]}\n        '
            f'security-group-ids: [{names["group"]}]\n        '
            'iam-instance-profile: {name: node}'))
    assert not ask(site)
    assert {check.subject for check in site.provider.getChecks()} == {
        'region', 'permission', 'bucket', 'image', 'zone', 'subnet',
        'security group', 'key', 'instance profile', 'flavor', 'quota'}
    # Nothing was made.
    assert not site.getInstances()


@pytest.mark.parametrize(('changes', 'subject', 'said'), [
    ({'label': 'az: us-east-1q'}, 'zone', 'Did you mean "us-east-1'),
    ({'label': 'subnet-ids: [subnet-1]'}, 'subnet', 'no subnet "subnet-1"'),
    ({'label': 'security-group-ids: [sg-1]'}, 'security group', 'no secur'),
    ({'label': 'iam-instance-profile: {name: other}'}, 'instance profile',
     'no instance profile "other"'),
    ({'image': 'ami-0123456789'}, 'image', 'no image ami-0123456789'),
    ({'image': 'bass'}, 'image', 'owner self or amazon'),
    ({'image': 'resolve:ssm:/images/debian'}, 'image', 'ParameterNotFound'),
])
def test_what_is_not_there(makeSite, key, changes, subject, said):
    problems = ask(makeSite(**changes))
    text, = [text for (kind, _), text in problems.items() if kind == subject]
    assert said in text


def test_key(site):
    assert 'There are none' in ask(site)['key', 'zuul']


def test_name_of_an_image(makeSite, aws, key):
    aws.ec2.register_image(Name='debian-12')
    assert not ask(makeSite(image='debian-1?'))
    said = ask(makeSite(image='debian-13'))['image', 'debian-13']
    assert 'Did you mean "debian-12"?' in said
    image = aws.backend.register_image('ubuntu')
    image.owner_id = '999999999999'
    image.launch_permissions.append({'Group': 'all'})
    said = ask(makeSite(image='ubuntu'))['image', 'ubuntu']
    assert '999999999999' in said and '"image-owners"' in said


def test_instance_type(makeSite, key):
    text = LAYOUT.replace('t3.medium', 't3.meduim')
    said = ask(makeSite(text=text))
    assert 'Did you mean "t3.medium"?' in said['flavor', 't3.meduim']


@pytest.mark.parametrize(('attribute', 'subject', 'said'), [
    ('instance-type: t3.meduim', 'flavor', 'Did you mean "t3.medium"?'),
    ('image-id: ami-0123456789', 'image', 'no image ami-0123456789')])
def test_what_a_label_says_of_its_own(
        makeSite, key, attribute, subject, said):
    site = makeSite(label=attribute)
    assert said in ask(site)[subject, attribute.split(': ')[1]]


def test_no_access(site, aws, key):
    aws.inject('DescribeRegions', 'AuthFailure', message='Who are you?')
    result, = askAll([site.provider], 60, io.StringIO()).results
    assert result.objects == ['provider cloud']
    assert 'Who are you?' in result.problem


def test_regions_need_not_be_listed(site, aws, key):
    aws.inject('DescribeRegions', 'UnauthorizedOperation')
    report = askAll([site.provider], 60, io.StringIO())
    assert not report.left_out
    assert not [each for each in report.results if each.problem]


def test_instance_type_is_elsewhere(makeSite, aws, key, monkeypatch):
    from moto.core.responses import ActionResult
    from moto.ec2.responses import EC2Response
    monkeypatch.setattr(
        EC2Response, 'describe_instance_type_offerings',
        lambda response: ActionResult({'InstanceTypeOfferings': [
            {'InstanceType': 't3.medium', 'Location': 'us-east-1b'}]}))
    said = ask(makeSite(label='availability-zones: [us-east-1a]'))
    assert 'the zones with it are us-east-1b' in said[
        'flavor', 't3.medium in us-east-1a']
    assert not ask(makeSite(
        label='availability-zones: [us-east-1a, us-east-1b]'))


def test_bucket(site, aws, key):
    aws.s3.delete_bucket(Bucket=UPLOADS)
    assert 'no bucket' in ask(site)['bucket', UPLOADS]


def test_bucket_elsewhere(site, aws, key):
    aws.s3.delete_bucket(Bucket=UPLOADS)
    aws.getClient('s3', 'eu-west-1').create_bucket(
        Bucket=UPLOADS, CreateBucketConfiguration={
            'LocationConstraint': 'eu-west-1'})
    assert 'is in eu-west-1' in ask(site)['bucket', UPLOADS]


@pytest.mark.parametrize(('action', 'name'), [
    ('RunInstances', 'ec2:RunInstances (small)'),
    ('TerminateInstances', 'ec2:TerminateInstances'),
    ('CreateTags', 'ec2:CreateTags'),
    ('DescribeVolumes', 'ec2:DescribeVolumes')])
def test_permission(site, aws, key, action, name):
    aws.inject(action, 'UnauthorizedOperation', message='You may not')
    assert ask(site) == {('permission', name): (
        'AWS: You may not (UnauthorizedOperation)')}


def test_quota(site, aws, key):
    aws.quotas['L-1216C47A'] = 1.0
    said = ask(site)['quota', 'small']
    assert 'needs 2 of L-1216C47A' in said and 'AWS allows 1' in said


def test_each_name_is_asked_once(makeSite, key):
    text = LAYOUT + '''      - {name: other, key-name: zuul}
- label: {name: other, image: base, flavor: small}
'''
    checks = [check for check in makeSite(text=text).provider.getChecks()
              if check.subject == 'key']
    assert [check.used_by for check in checks] == [
        'label small', 'label other']
    assert len({check.question for check in checks}) == 1
