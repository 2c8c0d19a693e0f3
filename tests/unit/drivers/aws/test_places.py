"""Where nodes are, and what becomes of those for which there is no room."""

import pytest

from tests.emulators.aws import INSTANCE_QUOTA, SPOT_QUOTA
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.launcher.providers.failures import Failure, classify

ZONES = 'availability-zones: [us-east-1a, us-east-1b, us-east-1c]'
SPOT = 'market-type: spot'
FALLBACK = 'market-type: spot\n        spot-fallback: on-demand'
NO_ROOM = 'InsufficientInstanceCapacity'


@pytest.fixture
def subnets(aws):
    """:return: zone -> the subnet there."""
    return {each['AvailabilityZone']: each['SubnetId'] for each in
            aws.ec2.describe_subnets()['Subnets']}


def inZone(zone):
    return lambda get: get('Placement.AvailabilityZone') == zone


def inSubnet(subnet):
    return lambda get: get('NetworkInterfaces')[0].get('SubnetId') == subnet


def isSpot(get):
    return get('InstanceMarketOptions.MarketType') == 'spot'


def getAsked(aws):
    """:return: a list of the zones in which AWS was asked for instances."""
    return [get('Placement.AvailabilityZone')
            for action, get in aws.requests if action == 'RunInstances']


def list_(subnets):
    return f'subnet-ids: [{", ".join(subnets)}]'


class TestZones:
    def test_one_for_all_nodes_of_a_request(self, makeSite):
        site = makeSite(label=ZONES)
        zones = {site.create(key='request').az for _ in range(3)}
        assert len(zones) == 1
        assert {site.create(key=str(number)).az for number in range(12)} == {
            'us-east-1a', 'us-east-1b', 'us-east-1c'}

    def test_next_one_if_there_is_no_room(self, makeSite, aws):
        site = makeSite(label=ZONES)
        first = site.create().az
        aws.inject('RunInstances', NO_ROOM, when=inZone(first))
        second = site.create().az
        assert second != first
        aws.inject('RunInstances', 'Unsupported', when=inZone(second))
        assert site.create().az not in (first, second)
        assert len(site.getInstances()) == 3

    def test_no_room_anywhere(self, makeSite, aws):
        site = makeSite(label=ZONES)
        aws.inject('RunInstances', NO_ROOM)
        with pytest.raises(CapacityError, match='injected'):
            site.create()
        assert sorted(getAsked(aws)) == [
            'us-east-1a', 'us-east-1b', 'us-east-1c']

    def test_no_room_where_there_is_such_a_thing(self, makeSite, aws):
        """The launcher waits, for there may be room later."""
        site = makeSite(label='availability-zones: [us-east-1a, us-east-1b]')
        aws.inject('RunInstances', NO_ROOM, times=1)
        aws.inject('RunInstances', 'Unsupported')
        with pytest.raises(CapacityError):
            site.create()

    def test_no_such_thing_anywhere(self, makeSite, aws):
        site = makeSite(label=ZONES)
        aws.inject('RunInstances', 'Unsupported')
        with pytest.raises(PermanentError):
            site.create()

    def test_other_errors_stay(self, makeSite, aws):
        site = makeSite(label=ZONES)
        aws.inject('RunInstances', 'VcpuLimitExceeded')
        with pytest.raises(QuotaError):
            site.create()
        assert len(getAsked(aws)) == 1

    def test_next_launcher_goes_on(self, makeSite, aws):
        """It does not ask again where there is no room."""
        site = makeSite(label=ZONES)
        aws.inject('RunInstances', NO_ROOM, times=1)
        node = site.makeNode()
        machine = site.getCreation(node)
        while not machine.full:
            machine.advance()
        node._set(create_state=machine.toDict())
        site.create(node)
        assert len(set(getAsked(aws))) == len(getAsked(aws)) == 2

    def test_ended_for_lack_of_room(self, makeSite, aws):
        """AWS may find out later."""
        site = makeSite(label=ZONES)
        aws.endNextInstance(f'Server.{NO_ROOM}')
        node = site.create()
        instance, = site.getInstances()
        assert node.aws_instance_id == instance.id
        assert len(set(getAsked(aws))) == 2
        site.delete(node)
        assert not site.getInstances()

    def test_hosts(self, makeSite, aws):
        site = makeSite(flavor='dedicated-host: true', label=ZONES)
        aws.inject('AllocateHosts', 'InsufficientHostCapacity', times=1)
        node = site.create()
        host, = aws.backend.hosts.values()
        assert (host.id, host.zone) == (node.aws_dedicated_host_id, node.az)
        site.delete(node)


class TestSubnets:
    def test_next_one_if_it_is_full(self, makeSite, aws, subnets):
        site = makeSite(label=list_(subnets.values()))
        first = site.create()
        assert first.az in subnets
        aws.inject('RunInstances', 'InsufficientFreeAddressesInSubnet',
                   when=inSubnet(subnets[first.az]))
        assert site.create().az != first.az

    def test_next_one_if_it_is_not_there(self, makeSite, aws, subnets):
        site = makeSite(label=list_(subnets.values()))
        first = site.create()
        aws.inject('RunInstances', 'InvalidSubnetID.NotFound',
                   when=inSubnet(subnets[first.az]))
        assert site.create().az != first.az

    def test_one_zone_for_all_nodes_of_a_request(self, makeSite, subnets):
        site = makeSite(label=list_(subnets.values()))
        assert len({site.create().az for _ in range(3)}) == 1

    def test_the_zone_of_others_of_the_nodeset(self, makeSite, subnets):
        site = makeSite(label=list_(subnets.values()))
        for zone in subnets:
            assert site.create(site.makeNode(az=zone)).az == zone

    def test_all_of_one_zone_before_others(self, makeSite, aws, subnets):
        other = aws.ec2.create_subnet(
            VpcId=aws.ec2.describe_vpcs()['Vpcs'][0]['VpcId'],
            CidrBlock='172.31.128.0/20', AvailabilityZone='us-east-1a')
        names = [subnets['us-east-1a'], subnets['us-east-1b'],
                 other['Subnet']['SubnetId']]
        site = makeSite(label=list_(names))
        aws.inject('RunInstances', NO_ROOM)
        with pytest.raises(CapacityError):
            site.create()
        asked = [names.index(get('NetworkInterfaces')[0]['SubnetId'])
                 for action, get in aws.requests if action == 'RunInstances']
        assert sorted(asked) == [0, 1, 2]
        assert asked[1] != 1

    def test_zones_and_subnets(self, makeSite, subnets):
        site = makeSite(label=(
            'availability-zones: [us-east-1b, us-east-1c]\n        '
            + list_(subnets.values())))
        assert site.create().az in ('us-east-1b', 'us-east-1c')

    def test_none_in_the_zones(self, makeSite, subnets):
        site = makeSite(label=(
            'availability-zones: [us-east-1b, us-east-1c]\n        '
            + list_([subnets['us-east-1a']])))
        with pytest.raises(PermanentError, match=r'"small".*is in us-east-1a'):
            site.create()

    def test_where_they_are_is_asked_once(self, makeSite, aws, subnets):
        site = makeSite(label=list_(subnets.values()))
        for _ in range(3):
            site.create()
        assert aws.calls['DescribeSubnets'] == 2

    def test_where_they_are_is_not_told(self, makeSite, aws, subnets):
        site = makeSite(label=list_(subnets.values()))
        aws.inject('DescribeSubnets', 'UnauthorizedOperation')
        aws.inject('RunInstances', NO_ROOM, times=1)
        assert site.create().az


class TestSpot:
    @pytest.mark.parametrize('code', [
        NO_ROOM, 'MaxSpotInstanceCountExceeded', 'SpotMaxPriceTooLow'])
    def test_on_demand_if_there_is_none(self, makeSite, aws, code):
        site = makeSite(flavor=FALLBACK)
        aws.inject('RunInstances', code, when=isSpot)
        node = site.create()
        assert node.node_properties['spot'] is False
        assert INSTANCE_QUOTA in node.quota.getResources()
        assert SPOT_QUOTA not in node.quota.getResources()

    def test_spot_if_there_is_one(self, makeSite, aws):
        site = makeSite(flavor=FALLBACK)
        node = site.create()
        assert node.node_properties['spot'] is True
        assert SPOT_QUOTA in node.quota.getResources()

    def test_other_zones_first(self, makeSite, aws):
        site = makeSite(flavor=FALLBACK, label=ZONES)
        aws.inject('RunInstances', NO_ROOM, when=isSpot)
        site.create()
        assert len(getAsked(aws)) == 4

    def test_no_other_zone_if_there_may_be_no_more(self, makeSite, aws):
        site = makeSite(flavor=FALLBACK, label=ZONES)
        aws.inject('RunInstances', 'MaxSpotInstanceCountExceeded',
                   when=isSpot)
        site.create()
        assert len(getAsked(aws)) == 2

    @pytest.mark.parametrize(('code', 'kind'), [
        (NO_ROOM, CapacityError), ('SpotMaxPriceTooLow', CapacityError),
        ('MaxSpotInstanceCountExceeded', QuotaError)])
    def test_waits_unless_it_may_be_another(self, makeSite, aws, code, kind):
        site = makeSite(flavor=SPOT)
        aws.inject('RunInstances', code, when=isSpot)
        with pytest.raises(kind):
            site.create()
        assert len(getAsked(aws)) == 1

    def test_limits_of_both(self, makeSite, aws):
        aws.quotas[SPOT_QUOTA] = 7.0
        aws.quotas[INSTANCE_QUOTA] = 9.0
        site = makeSite(flavor=FALLBACK)
        site.refreshQuota()
        limits = site.provider.getEndpointLimits().getResources()
        assert (limits[SPOT_QUOTA], limits[INSTANCE_QUOTA]) == (7, 9)


@pytest.mark.parametrize(('code', 'kind', 'failure'), [
    ('InsufficientInstanceCapacity', CapacityError, Failure.CAPACITY),
    ('InsufficientFreeAddressesInSubnet', CapacityError,
     Failure.CAPACITY),
    ('InstanceLimitExceeded', QuotaError, Failure.QUOTA),
    ('VcpuLimitExceeded', QuotaError, Failure.QUOTA),
    ('VolumeLimitExceeded', QuotaError, Failure.QUOTA),
    ('PendingVerification', TemporaryError, Failure.TEMPORARY),
    ('UnauthorizedOperation', DriverError, Failure.ATTEMPT),
    ('AuthFailure', DriverError, Failure.ATTEMPT),
    ('InvalidKeyPair.NotFound', PermanentError, Failure.PERMANENT),
    ('InvalidSubnetID.NotFound', PermanentError, Failure.PERMANENT),
    ('InvalidAMIID.NotFound', Exception, Failure.ATTEMPT),
])
def test_errors(site, aws, code, kind, failure):
    aws.inject('RunInstances', code, message=(
        'no. Encoded authorization failure message: SECRET'))
    with pytest.raises(kind, match=r'^AWS: no') as info:
        site.create()
    assert classify(info.value) is failure
    assert 'SECRET' not in str(info.value)
    assert not isinstance(info.value, CapacityError) or kind is CapacityError
