"""What is said of a configuration before it is used."""

import io

import pytest

from tests.emulators.aws import UPLOADS
from tests.unit.drivers.aws.sites import (
    LAYOUT,
    getProvider,
    makeConnection,
)
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


def test_an_endpoint_that_has_not_been_started(makeSite, zk_client, key):
    """The command starts none."""
    site = makeSite()
    connection = makeConnection(endpoint_url=site.aws.url)
    text = LAYOUT.replace('IMAGE', site.image_id).replace(
        'FLAVOR', '').replace('LABEL', '')
    provider = getProvider(zk_client, connection, text)
    try:
        report = askAll([provider], 60, io.StringIO())
        assert not report.errors
        assert not [each for each in report.results if each.problem]
    finally:
        connection.driver.stop()


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


def test_bucket_of_another_account(site, aws, key):
    aws.denied.add(f'/{UPLOADS}')
    said = ask(site)['bucket', UPLOADS]
    assert said.startswith(f'Bucket "{UPLOADS}" cannot be used: AWS: ')


def test_subnet_elsewhere(makeSite, key, names):
    zone = next(zone for zone in ('us-east-1a', 'us-east-1b')
                if zone != names['zone'])
    said = ask(makeSite(label=(
        f'subnet-ids: [{names["subnet"]}]\n        az: {zone}')))
    assert said['subnet', names['subnet']] == (
        f'Subnet {names["subnet"]} is in {names["zone"]}, but the label has '
        f'{zone}')


def test_subnet_that_is_full(makeSite, aws, key, names):
    subnet = aws.backend.get_subnet(names['subnet'])
    subnet._available_ip_addresses = 0
    said = ask(makeSite(label=f'subnet-ids: [{names["subnet"]}]'))
    assert said['subnet', names['subnet']] == (
        f'Subnet {names["subnet"]} has no address left')


def test_dedicated_host(makeSite, key):
    text = LAYOUT.replace('t3.medium', 'm5.large')
    assert not ask(makeSite(
        text=text, flavor='dedicated-host: true', label='az: us-east-1a'))


def test_image_that_zuul_builds(makeSite, aws, key):
    site = makeSite(text=LAYOUT.replace('image: base,', 'image: built,'))
    aws.inject('RunInstances', 'UnauthorizedOperation', message='You may not')
    assert list(ask(site)) == [('permission', 'ec2:RunInstances (small)')]
    # Nothing is there with which to try it.
    for image in aws.ec2.describe_images(Owners=['self'])['Images']:
        aws.ec2.deregister_image(ImageId=image['ImageId'])
    assert not ask(site)


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
