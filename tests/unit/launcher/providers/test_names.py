"""A machine is the same one by each of its names and addresses."""

import threading

import pytest
from zuul.model import ProviderNode

from tests.fixtures.names import AGAIN, NAME, UNKNOWN
from tests.fixtures.racks import finish, isDone
from tests.fixtures.staticlayouts import checkedStaticNodes
from zuul_nodes.drivers import addresses
from zuul_nodes.launcher.providers.sharedmachines import MOST

State = ProviderNode.State

OTHER = 'chair.example'
SHARED, FIRST, SECOND = '192.0.2.1', '192.0.2.2', '192.0.2.3'


def setMachines(steps, *hosts, usernames=('zuul', 'zuul')):
    """Give each of two tenants a node of its own."""
    for tenant, host, username in zip(
            ('first', 'second'), hosts, usernames, strict=True):
        text = checkedStaticNodes(
            22, name=host, username=username,
            defaults='{host-key-checking: false}')
        for kind in 'name', 'section':
            text = text.replace(f'{kind}: desk\n', f'{kind}: {tenant}\n')
        steps.setLayout(text, tenant)
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)


def getOthers(steps):
    """:return: the nodes that are the same machine as the first."""
    return steps.planner.getOthers(steps.nodes()[0])[0]


def lookUp(steps):
    """Have the launcher look the name up once more."""
    steps.runUntil(lambda: not steps.names.running)
    steps.queue.add(('name', NAME))


def request(steps):
    return [steps.addRequest('big', tenant=tenant)
            for tenant in ('first', 'second')]


def serveOneByOne(steps):
    first, second = request(steps)
    steps.runUntil(lambda: isDone(first))
    steps.runUntilWaiting(second)
    finish(steps, first)
    steps.runUntil(lambda: isDone(second))
    finish(steps, second)


def serveTogether(steps):
    requests = request(steps)
    steps.runUntil(lambda: all(map(isDone, requests)))
    for each in requests:
        finish(steps, each)


@pytest.mark.parametrize('hosts', [
    ('desk.test', 'Desk.Test'), ('desk.test', 'desk.test.'),
    ('2001:db8::1', '2001:DB8:0::1'), ('::1', '0:0:0:0:0:0:0:1'),
    ('192.0.2.1', '::ffff:192.0.2.1'), ('192.0.2.1', '::FFFF:C000:201'),
    ('fe80::1%lo', 'FE80:0::1%lo'), ('fe80::1%lo', 'fe80::1%1')],
    ids=' '.join)
def test_one_job_at_a_time_however_a_machine_is_spelt(steps, hosts):
    steps.connections.connections['null'].hosts = addresses.Hosts(
        '0.0.0.0/0 ::/0', 'the option')
    setMachines(steps, *hosts)
    serveOneByOne(steps)


@pytest.mark.parametrize('usernames, hosts', [
    (('zuul', 'root'), (SHARED, SHARED)), (('zuul', 'root'), (NAME, SHARED)),
    (('zuul', 'zuul'), (SHARED, FIRST))])
def test_nodes_of_two_users_or_addresses_are_two_machines(
        steps, names, usernames, hosts):
    names.say([SHARED])
    setMachines(steps, *hosts, usernames=usernames)
    serveTogether(steps)


@pytest.mark.parametrize('found', [
    ([FIRST, SHARED], [SHARED, SECOND]), ([SHARED, SECOND], [FIRST, SHARED])])
def test_names_with_one_address_in_common_are_one_machine(
        steps, names, found):
    names.say(found[0])
    names.say(found[1], name=OTHER)
    setMachines(steps, NAME, OTHER)
    # The records have another one each, the first.
    steps.runUntil(lambda: getOthers(steps))
    serveOneByOne(steps)


def test_names_without_a_common_address_are_two_machines(steps, names):
    names.say([FIRST])
    names.say([SECOND], name=OTHER)
    setMachines(steps, NAME, OTHER)
    serveTogether(steps)


def test_names_that_move_become_one_machine_and_two_again(steps, names):
    names.say([FIRST])
    names.say([SECOND], name=OTHER)
    setMachines(steps, NAME, OTHER)
    assert not getOthers(steps)
    names.say([SECOND])
    lookUp(steps)
    steps.runUntil(lambda: getOthers(steps))
    serveOneByOne(steps)
    names.say([FIRST])
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    lookUp(steps)
    steps.runUntil(lambda: not getOthers(steps))
    serveTogether(steps)


def test_a_job_stays_where_it_is_when_its_name_moves(steps, names):
    names.say([FIRST])
    names.say([SHARED], name=OTHER)
    setMachines(steps, NAME, OTHER)
    names.say([SHARED])
    lookUp(steps)
    steps.runUntil(lambda: getOthers(steps))
    first, second = request(steps)
    steps.runUntil(lambda: isDone(first))
    names.say([FIRST])
    lookUp(steps)
    shared_machines = steps.planner.capacity.shared_machines
    steps.runUntil(lambda: FIRST in str(shared_machines.places))
    steps.runUntilWaiting(second)
    finish(steps, first)
    steps.runUntil(lambda: isDone(second))


def test_a_name_has_no_more_than_some_addresses(steps, names):
    names.say([FIRST])
    names.say([SHARED], name=OTHER)
    setMachines(steps, NAME, OTHER)
    first, _ = request(steps)
    steps.runUntil(lambda: isDone(first))
    shared_machines = steps.planner.capacity.shared_machines
    node_id, = first.nodes
    for network in range(4):
        names.say([f'198.51.{network}.{host}' for host in range(100)])
        lookUp(steps)
        steps.runUntil(lambda network=network: f'198.51.{network}.' in str(
            shared_machines.places[node_id]))
    # Its name and its record, what the name has, and some that it had.
    assert len(shared_machines.places[node_id]) <= 2 * MOST + 2


@pytest.mark.parametrize('error', [AGAIN, UNKNOWN])
def test_an_error_of_the_name_server_changes_nothing(steps, names, error):
    names.say([SHARED])
    setMachines(steps, NAME, SHARED)
    names.say(error)
    lookUp(steps)
    number = len(names.asked)
    steps.runUntil(lambda: len(names.asked) > number)
    serveOneByOne(steps)


def test_a_name_that_hangs_does_not_hold_up_the_planner(
        steps, names):
    """Its spelling is all that is known of it."""
    answered = threading.Event()
    names.say(UNKNOWN, lambda: answered.wait(30) and [SHARED])
    setMachines(steps, NAME, SHARED)
    serveTogether(steps)
    answered.set()
    steps.runUntil(lambda: getOthers(steps))


def test_a_name_is_looked_up_as_long_as_there_is_a_node(
        steps, names):
    steps.names.interval = 0.02
    names.say([FIRST])
    setMachines(steps, NAME, SHARED)
    number = len(names.asked)
    steps.runUntil(lambda: len(names.asked) > number + 2)
    steps.setLayout('[]', 'first')
    steps.runUntil(lambda: len(steps.nodes()) == 1)
    assert not steps.planner.hasHost(NAME)
    number = len(names.asked)
    lookUp(steps)
    steps.run()
    assert len(names.asked) == number
