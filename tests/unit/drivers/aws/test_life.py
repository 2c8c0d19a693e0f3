"""The lives of nodes."""

import concurrent.futures
import threading

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.drivers import (
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)


def countCalls(aws, action):
    return aws.calls[action]


def test_life(site):
    node = site.create()
    instance, = site.getInstances()
    assert node.aws_instance_id == instance.id
    assert (node.interface_ip, node.az, node.cloud) == (
        instance.private_ip, 'us-east-1a', 'AWS')
    assert node.node_properties['spot'] is False
    site.delete(node)
    assert not site.getInstances()


# A launcher dies, and another one takes over

def test_answer_is_lost(site, aws):
    """What has been made is found, though no record has it."""
    node = site.makeNode()
    machine = site.getCreation(node)
    machine.advance()
    waitFor(site.getInstances)
    assert node.aws_instance_id is None
    # Only that creation was begun is recorded.
    node._set(create_state=machine.toDict())
    site.create(node)
    assert [node.aws_instance_id] == [
        instance.id for instance in site.getInstances()]
    assert countCalls(aws, 'RunInstances') == 1


def test_nothing_is_recorded(site, aws):
    """AWS knows that it has been asked before."""
    node = site.makeNode()
    site.getCreation(node).advance()
    waitFor(site.getInstances)
    site.create(node)
    assert len(site.getInstances()) == 1
    assert countCalls(aws, 'RunInstances') == 2


def test_asked_for_something_else_meanwhile(site, aws):
    node = site.makeNode()
    site.getCreation(node).advance()
    waitFor(site.getInstances)
    # There is a newer image.
    site.provider.images['base'].image_id = aws.ec2.register_image(
        Name='newer')['ImageId']
    site.create(node)
    assert [node.aws_instance_id] == [
        instance.id for instance in site.getInstances()]


def test_two_nodes_are_two(site):
    site.create()
    site.create()
    assert len(site.getInstances()) == 2


def test_host_is_not_allocated_twice(makeSite, aws):
    site = makeSite(flavor='dedicated-host: true', label='az: us-east-1a')
    node = site.makeNode()
    machine = site.getCreation(node)
    machine.advance()
    host, = waitFor(lambda: list(aws.backend.hosts.values()))
    node._set(create_state=machine.toDict())
    site.create(node)
    assert node.aws_dedicated_host_id == host.id
    assert len(aws.backend.hosts) == 1
    site.delete(node)
    assert host.state == 'released'
    assert not site.getInstances()


def test_host_is_not_forgotten(makeSite, aws):
    """The answer with its instance is lost."""
    site = makeSite(flavor='dedicated-host: true', label='az: us-east-1a')
    node = site.makeNode()
    machine = site.getCreation(node)
    waitFor(lambda: (machine.advance(), machine.state)[1]
            == machine.INSTANCE_CREATING_START)
    waitFor(site.getInstances)
    assert node.aws_instance_id is None
    node._set(create_state=machine.toDict())
    site.create(node)
    host, = aws.backend.hosts.values()
    assert node.aws_dedicated_host_id == host.id
    site.delete(node)
    assert host.state == 'released'


@pytest.mark.parametrize('state', ['deleting instance', 'releasing host'])
def test_deletion_is_begun_anew(site, state):
    """Nobody knows whether AWS was asked."""
    node = site.create()
    node._set(delete_state={'state': state})
    site.delete(node)
    assert not site.getInstances()


def test_deletion_of_what_no_record_has(site):
    node = site.makeNode()
    site.getCreation(node).advance()
    waitFor(site.getInstances)
    assert node.aws_instance_id is None
    site.delete(node)
    assert not site.getInstances()


def test_deletion_waits_for_what_is_being_made(site, aws):
    """So it is not made behind its back."""
    answer = threading.Event()
    # Moto is busy with it until then.
    aws.inject('RunInstances', None, when=lambda get: not answer.wait(20))
    node = site.makeNode()
    site.getCreation(node).advance()
    waitFor(lambda: aws.calls['RunInstances'])
    deletion = site.getDeletion(node)
    deletion.advance()
    assert deletion.state == deletion.START
    answer.set()
    site.run(deletion)
    assert not site.getInstances()


def test_deletion_of_what_is_in_no_list_yet(site, aws):
    """An old list says nothing of a new instance."""
    listed = site.endpoint.listing.getNow()
    node = site.create()
    site.endpoint.listing._instances = listed
    site.endpoint.listing.interval = 3600
    deletion = site.getDeletion(node)
    for _ in range(3):
        deletion.advance()
    assert not deletion.complete
    waitFor(lambda: not site.getInstances())


def test_one_that_is_gone_does_not_spoil_it_for_others(site, aws):
    nodes = [site.create() for _ in range(3)]
    site.aws.backend.reservations.clear()
    futures = [site.endpoint._deleteInstance(node.aws_instance_id)
               for node in nodes]
    for future in futures:
        assert future.result(20) is None
    site.delete(nodes[0])


def test_one_that_may_not_be_removed_does_not_spoil_it(site, aws):
    first, second = site.create(), site.create()
    aws.inject('TerminateInstances', 'OperationNotPermitted',
               when=lambda get: first.aws_instance_id in get('InstanceIds'))
    futures = [concurrent.futures.Future() for _ in range(2)]
    site.endpoint._terminate([
        (node.aws_instance_id, site.endpoint.log, future)
        for node, future in zip((first, second), futures, strict=True)])
    assert isinstance(futures[0].exception(), PermanentError)
    assert futures[1].result() is None


def test_throttled_calls_are_not_multiplied(site, aws):
    aws.inject('TerminateInstances', 'PendingVerification')
    futures = [concurrent.futures.Future() for _ in range(3)]
    site.endpoint._terminate([
        ('i-0', site.endpoint.log, future) for future in futures])
    assert {type(each.exception()) for each in futures} == {TemporaryError}
    assert countCalls(aws, 'TerminateInstances') == 1


def test_deletion_is_refused(site, aws):
    node = site.create()
    aws.inject('TerminateInstances', 'OperationNotPermitted', times=1)
    with pytest.raises(DriverError, match='OperationNotPermitted'):
        site.delete(node)
    site.delete(node)
    assert not site.getInstances()


def test_the_deletion_of_an_instance_that_stays_is_repeated(site, aws):
    node = site.create()
    # AWS accepts it, and does nothing.
    aws.inject('TerminateInstances', None, times=2)
    deletion = site.getDeletion(node)
    for removal in deletion.removals.values():
        removal.repeat_interval = 0.1
    site.run(deletion)
    assert countCalls(aws, 'TerminateInstances') >= 3
    assert not site.getInstances()


def test_ends_by_itself(site, aws):
    """The error says why."""
    aws.endNextInstance('Client.VolumeLimitExceeded', 'too much')
    with pytest.raises(QuotaError, match='too much'):
        site.create()


def test_an_instance_that_is_not_listed_has_vanished(site, aws):
    site.endpoint.listing.appearance_timeout = 0
    node = site.makeNode(aws_instance_id='i-1', create_state={
        'state': 'creating instance'})
    with pytest.raises(DriverError, match='i-1 has vanished'):
        site.run(site.getCreation(node))


def test_lists_may_fail_for_a_while(site, aws):
    node = site.makeNode()
    machine = site.getCreation(node)
    site.endpoint._listInstances()
    aws.inject('DescribeInstances', 'UnauthorizedOperation', times=3)
    site.run(machine)
    assert node.aws_instance_id


@pytest.mark.parametrize('action', ['DescribeInstances', 'DescribeVolumes'])
def test_the_first_list_may_fail_as_well(site, aws, action):
    node = site.makeNode()
    aws.inject(action, 'UnauthorizedOperation', times=3)
    site.create(node)
    assert node.aws_instance_id
    aws.inject(action, 'UnauthorizedOperation', times=3)
    site.delete(node)
    assert not site.getInstances()


def test_first_lists_do_not_fail_for_ever(site, aws):
    site.endpoint.listing.failure_timeout = 0
    aws.inject('DescribeInstances', 'UnauthorizedOperation')
    with pytest.raises(DriverError, match='UnauthorizedOperation'):
        site.create()


@pytest.fixture
def begun(makeSite, aws):
    """:return: a site, and a node whose host only AWS knows."""
    site = makeSite(flavor='dedicated-host: true', label='az: us-east-1a')
    node = site.makeNode()
    machine = site.getCreation(node)
    machine.advance()
    waitFor(lambda: list(aws.backend.hosts.values()))
    node._set(create_state=machine.toDict())
    return site, node


def test_next_launcher_waits_until_it_can_look(begun, aws):
    """What there is of a node may not be known at once."""
    site, node = begun
    aws.inject('DescribeHosts', 'UnauthorizedOperation', times=3)
    site.create(node)
    assert len(aws.backend.hosts) == 1


def test_next_launcher_does_not_wait_for_ever(begun, aws):
    site, node = begun
    site.endpoint.listing.failure_timeout = -1
    aws.inject('DescribeHosts', 'UnauthorizedOperation')
    with pytest.raises(DriverError, match='UnauthorizedOperation'):
        site.create(node)


def test_disks_that_are_asked_for_are_the_root(makeSite, aws):
    """Whichever disk of the image AWS lists first."""
    site = makeSite(label='volume-size: 30')
    describe = site.endpoint.ec2_client.describe_images

    def describeWithData(**kwargs):
        answer = describe(**kwargs)
        for image in answer['Images']:
            image['BlockDeviceMappings'].insert(
                0, {'DeviceName': '/dev/sdb', 'Ebs': {'VolumeSize': 1}})
        return answer
    site.endpoint.ec2_client.describe_images = describeWithData
    node = site.create()
    sizes = {volume.id: volume.size for volume
             in aws.backend.volumes.values()}
    assert sizes[node.node_properties['ebs_volume_id']] == 30


def test_console(site, aws):
    node = site.create()
    label = site.provider.labels['small']
    assert site.provider.getConsoleLog(label, node)
    aws.inject('GetConsoleOutput', 'UnsupportedOperation',
               when=lambda get: get('Latest'))
    assert site.provider.getConsoleLog(label, node)
    assert site.provider.getConsoleLog(label, site.makeNode()) is None
