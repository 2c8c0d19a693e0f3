"""Instances of which AWS chooses the type."""

import copy
import gc

import pytest

from tests.fixtures.waiting import waitFor
from tests.unit.drivers.aws.sites import FLEET, LAYOUT, getProvider
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
    forNode,
)

NO_ROOM = 'InsufficientInstanceCapacity'
ZONES = 'availability-zones: [us-east-1a, us-east-1b]'


def makeText(types='t3.medium', strategy='prioritized'):
    return LAYOUT.replace(
        'instance-type: t3.medium', FLEET % (types, strategy))


@pytest.fixture
def makeFleet(makeSite):
    """:return: a function that makes a site whose flavor is a fleet."""
    def make(strategy='prioritized', types='t3.medium', **kwargs):
        site = makeSite(text=makeText(types, strategy), **kwargs)
        site.endpoint.postConfig(site.provider)
        return site
    return make


@pytest.fixture
def makeTenants(makeFleet, zk_client):
    """
    :return: a function that makes the sites of tenants which share a provider
        and an endpoint, each with other attributes: old text -> new text.
    """
    def make(*replacements):
        first = makeFleet()
        sites = []
        for replaced in replacements:
            text = makeText()
            for old, new in (*replaced.items(), ('IMAGE', first.image_id),
                             ('FLAVOR', ''), ('LABEL', '')):
                text = text.replace(old, new)
            site = copy.copy(first)
            site.provider = getProvider(zk_client, site.connection, text)
            assert site.provider.endpoint is first.endpoint
            sites.append(site)
        first.provider = None
        return sites
    return make


@pytest.fixture
def profile(aws):
    client = aws.getClient('iam')
    client.create_instance_profile(InstanceProfileName='node')
    return 'iam-instance-profile: {name: node}'


def getOverrides(aws):
    """:return: yields the overrides of each fleet that was asked for."""
    for action, get in aws.requests:
        if action == 'CreateFleet':
            yield get('LaunchTemplateConfigs')[0]['Overrides']


def getRequired(site):
    """:return: the names of the templates that are not leaked."""
    gc.collect()
    return {resource.id for resource
            in site.endpoint.listRequiredInfrastructureResources()}


def test_fleet(makeFleet, aws):
    site = makeFleet()
    node = site.makeNode()
    machine = site.getCreation(node)
    machine.advance()
    waitFor(site.getInstances)
    # Another launcher asks again.
    site.create(node)
    assert [node.aws_instance_id] == [
        each.id for each in site.getInstances()]
    site.delete(node)
    assert not site.getInstances()


@pytest.mark.parametrize(('codes', 'kind'), [
    (['InsufficientInstanceCapacity', 'InvalidParameterValue'],
     CapacityError),
    (['VcpuLimitExceeded'], QuotaError),
    (['InvalidFleetConfiguration'], PermanentError)])
def test_none(makeFleet, aws, monkeypatch, codes, kind):
    """It is no error of the call."""
    from moto.core.responses import ActionResult
    from moto.ec2.responses import EC2Response
    monkeypatch.setattr(
        EC2Response, 'create_fleet', lambda response: ActionResult({
            'FleetId': 'fleet-1', 'Instances': [], 'Errors': [
                {'ErrorCode': code, 'ErrorMessage': 'no'}
                for code in codes]}))
    site = makeFleet()
    with pytest.raises(kind, match='no'):
        site.create()


def test_on_demand(makeFleet, aws):
    site = makeFleet('capacity-optimized', flavor=(
        'market-type: spot\n        spot-fallback: on-demand'))
    aws.inject('CreateFleet', NO_ROOM, times=1)
    site.create()
    get, = [get for action, get in aws.requests
            if action == 'CreateFleet'][1:]
    assert get('OnDemandOptions.AllocationStrategy') == 'lowest-price'


@pytest.mark.parametrize(('public', 'optimized'), [
    ('true', 'true'), ('false', 'false')])
def test_is_what_label_and_flavor_say(
        makeFleet, aws, profile, public, optimized):
    """So it is without a fleet."""
    group = aws.ec2.describe_security_groups()['SecurityGroups'][0]
    site = makeFleet(
        flavor=(f'public-ipv4: {public}\n        '
                f'ebs-optimized: {optimized}'),
        label=(f'{profile}\n        az: us-east-1c\n        '
               'userdata: "#!/bin/sh"\n        volume-size: 30\n        '
               f'security-group-ids: [{group["GroupId"]}]'))
    node = site.create()
    instance, = aws.ec2.describe_instances()['Reservations'][0]['Instances']
    assert node.az == 'us-east-1c'
    assert instance['EbsOptimized'] is (optimized == 'true')
    assert ('PublicIpAddress' in instance) is (public == 'true')
    assert instance['IamInstanceProfile']['Arn'].endswith('/node')
    assert [each['GroupId'] for each in
            instance['NetworkInterfaces'][0]['Groups']] == [group['GroupId']]
    assert instance['KeyName'] == 'zuul'
    volume, = aws.backend.volumes.values()
    assert volume.size == 30


def test_root_device_of_the_image(makeFleet, aws):
    """The disk that is larger is that which the image boots from."""
    site = makeFleet(label='volume-size: 30', image=aws.getImage(
        'other', RootDeviceName='/dev/xvda'))
    node = site.create()
    volume, = aws.backend.volumes.values()
    assert (volume.size, volume.id) == (
        30, node.node_properties['ebs_volume_id'])


def test_all_types_and_subnets(makeFleet, aws):
    subnets = [each['SubnetId'] for each
               in aws.ec2.describe_subnets()['Subnets']][:2]
    site = makeFleet(types='t3.medium, t3.large',
                     label=f'subnet-ids: [{", ".join(subnets)}]')
    site.create()
    overrides, = getOverrides(aws)
    assert [(each['InstanceType'], each['SubnetId'], each['Priority'])
            for each in overrides] == [
        (instance_type, subnet, rank)
        for rank, instance_type in enumerate(('t3.medium', 't3.large'))
        for subnet in subnets]


def test_one_zone_for_all_nodes_of_a_request(makeFleet, aws):
    site = makeFleet(label=ZONES)
    assert len({site.create().az for _ in range(3)}) == 1


def test_next_zone_if_there_is_no_room(makeFleet, aws):
    site = makeFleet(label=ZONES)
    first = site.create().az
    aws.inject('CreateFleet', NO_ROOM, times=1)
    assert site.create().az == (
        {'us-east-1a', 'us-east-1b'} - {first}).pop()


def test_only_subnets_of_the_zone(makeFleet, aws):
    subnets = {each['AvailabilityZone']: each['SubnetId'] for each
               in aws.ec2.describe_subnets()['Subnets']}
    text = ', '.join(subnets.values())
    site = makeFleet(
        label=f'az: us-east-1b\n        subnet-ids: [{text}]')
    assert site.create().az == 'us-east-1b'
    overrides, = getOverrides(aws)
    assert [each['SubnetId'] for each in overrides] == [
        subnets['us-east-1b']]
    assert 'AvailabilityZone' not in overrides[0]
    site = makeFleet(label=(f'az: us-east-1b\n        '
                            f'subnet-ids: [{subnets["us-east-1a"]}]'))
    with pytest.raises(PermanentError, match=r'"small".*is in us-east-1a'):
        site.create()


def test_template_is_not_there_yet(makeFleet):
    site = makeFleet()
    site.endpoint.provider_label_template_names.clear()
    with pytest.raises(TemporaryError, match='"small" has no launch templ'):
        site.create()


def test_template_is_there_already(makeFleet, aws):
    sites = [makeFleet() for _ in range(2)]
    assert getRequired(sites[0]) == getRequired(sites[1])
    assert aws.calls['CreateLaunchTemplate'] == 1


def test_template_is_made_by_another_launcher(makeFleet, aws):
    aws.inject('CreateLaunchTemplate',
               'InvalidLaunchTemplateName.AlreadyExistsException',
               times=1, late=True)
    assert makeFleet().create().aws_instance_id


def test_template_is_refused(makeFleet, aws):
    aws.inject('CreateLaunchTemplate', 'UnauthorizedOperation', times=1)
    with pytest.raises(DriverError, match=r'label "small".*Unauthorized'):
        makeFleet()


class TestTenants:
    """They have their own objects of one provider."""

    @pytest.mark.parametrize(('old', 'new'), [
        ('key-name: zuul', 'key-name: other'),
        ('LABEL', 'security-group-ids: [GROUP]'),
        ('LABEL', 'userdata: "#!/bin/sh"'),
        ('LABEL', 'ebs-optimized: true'),
        ('FLAVOR', 'ebs-optimized: true')])
    def test_instances_are_what_the_tenant_says(
            self, makeTenants, aws, old, new):
        group = aws.ec2.describe_security_groups()['SecurityGroups'][0]
        sites = makeTenants({}, {
            old: new.replace('GROUP', group['GroupId'])})
        for site in sites:
            site.endpoint.postConfig(site.provider)
        for site in sites:
            node = site.create()
            view = forNode(site.provider, 'small', '')
            label = view.labels['small']
            template, = aws.ec2.describe_launch_template_versions(
                LaunchTemplateName=node.aws_launch_template_name,
                Versions=['$Latest'])['LaunchTemplateVersions']
            data = template['LaunchTemplateData']
            assert bool(data.get('UserData')) is bool(label.userdata)
            assert data['EbsOptimized'] is (
                view.flavors['small'].ebs_optimized)
            assert data['NetworkInterfaces'][0].get('Groups') == (
                label.security_group_ids)
            reservation, = aws.ec2.describe_instances(
                InstanceIds=[node.aws_instance_id])['Reservations']
            assert reservation['Instances'][0]['KeyName'] == label.key_name

    def test_label_that_another_tenant_lacks(self, makeTenants):
        site, other = makeTenants({}, {
            'label: {name: small': 'label: {name: tiny',
            '- name: small\n        key': '- name: tiny\n        key'})
        for each in (site, other):
            each.endpoint.postConfig(each.provider)
        assert site.create().aws_instance_id

    def test_all_templates_are_required(self, makeTenants, aws):
        sites = makeTenants(*({'key-name: zuul': f'key-name: {name}'}
                              for name in ('a', 'b', 'b', 'c')))
        for site in sites:
            site.endpoint.postConfig(site.provider)
        used = [site.create().aws_launch_template_name for site in sites]
        assert len(set(used)) == 3
        assert getRequired(sites[0]) == set(used)

        # The third tenant still needs what the second has needed.
        sites[1].provider = sites[3].provider = None
        assert getRequired(sites[0]) == {used[0], used[2]}

    def test_no_template_but_that_of_another_tenant(self, makeTenants):
        site, other = makeTenants({}, {'key-name: zuul': 'key-name: other'})
        site.endpoint.postConfig(site.provider)
        with pytest.raises(TemporaryError, match='"small" has no launch tem'):
            other.create()
        other.endpoint.postConfig(other.provider)
        assert other.create().aws_instance_id
