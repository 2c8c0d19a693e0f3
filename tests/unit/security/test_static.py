"""Static nodes: which machines they are, and how they are logged in to, which
is on command lines and in inventories."""

import configparser
import ipaddress
import re
import socket
import threading

import pytest
from zuul.model import ProviderNode

from tests.fixtures.launcher import TIMEOUT
from tests.fixtures.layout import flatten, makeConnections, makeLayout
from tests.fixtures.racks import finish, isDone
from tests.fixtures.staticlayouts import checkedStaticNodes
from tests.fixtures.staticnodes import makeConfig, makeProvider
from zuul_nodes.configloader.errors import AttributeValueError, BoundError
from zuul_nodes.drivers import addresses

State = ProviderNode.State

NODE = '''
- label: {name: desk}
- section:
    name: office
    connection: null
    nodes: [{name: desk, host: HOST, username: USER, connection-port: PORT}]
- provider: {name: office, section: office, labels: [desk]}
'''
IMAGE = '''
- image: {name: debian, type: cloud, username: USER, connection-port: PORT}
- flavor: {name: small}
- label: {name: desk, image: debian, flavor: small}
- section:
    name: office
    connection: null
    nodes: [{name: desk, host: 192.0.2.1}]
    images: [debian]
    flavors: [small]
- provider: {name: office, section: office, labels: [desk]}
'''
USERS = ['-l', 'a b', '"a\\n"', '"{{ x }}"', '"a;id"', '"*"']
PORTS = ['-1', '65536', '99999999']


def fill(text, host='192.0.2.1', user='zuul', port='22'):
    return text.replace('HOST', host).replace('USER', user).replace(
        'PORT', port)


@pytest.mark.parametrize('text', [NODE, IMAGE])
def test_what_is_right_is_taken(text):
    assert flatten(fill(text))
    assert flatten(fill(text, user='EXAMPLE\\zuul$'))


@pytest.mark.parametrize('host', [
    '-oProxyCommand=id', '"a b"', '"a\\n"', '"*"', '"desk,chair"',
    'root@desk', '"{{ x }}"', '""'])
def test_a_host_that_is_none_is_an_error(host):
    with pytest.raises(AttributeValueError, match=(
            r'neither a host name nor an IP address|has no address')):
        flatten(fill(NODE, host=host))


@pytest.mark.parametrize('text', [NODE, IMAGE])
@pytest.mark.parametrize('user', USERS)
def test_a_user_that_is_none_is_an_error(text, user):
    with pytest.raises(AttributeValueError, match='the name of a user'):
        flatten(fill(text, user=user))


@pytest.mark.parametrize('text', [NODE, IMAGE])
@pytest.mark.parametrize('port', PORTS)
def test_a_port_that_is_none_is_an_error(text, port):
    with pytest.raises(AttributeValueError, match='from 1 to 65535'):
        flatten(fill(text, port=port))


# Which machines

MACHINES = '''
- label: {name: desk}
- section:
    name: office
    connection: null
    nodes: [{name: desk, host: 'HOST'}]
- provider: {name: office, section: office, labels: [desk]}
'''
LOCAL = [
    '127.0.0.1', '127.1', '0x7f.1', '2130706433', '0177.1', '127.0.0.1.',
    '::1', '::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1', 'localhost',
    'LocalHost.', 'zuul.localhost', '0.0.0.0', '0', '::', '169.254.169.254',
    'fe80::1', 'fe80::1%eth0', 'fd00:ec2::254', '168.63.129.16',
    '224.0.0.1', 'ff02::1', '255.255.255.255']
ELSEWHERE = ['198.51.100.1', '10.0.0.1', 'fd01::1', 'desk', 'desk.example.com',
             'localhost.example.com']
NAME = 'desk.example.com'
BOUND = r'"hosts" of \[connection null\] in zuul.conf'


def getConnections(**options):
    config = configparser.ConfigParser()
    config.read_dict({'connection null': {'driver': 'static', **options}})
    return makeConnections(config)


def load(host, **options):
    layout = makeLayout(MACHINES.replace('HOST', host))
    provider_config, = layout.provider_configs.values()
    return provider_config.flattenConfig(layout, getConnections(**options))


@pytest.mark.parametrize('host', [*LOCAL, socket.gethostname()])
def test_the_machine_of_the_launcher_cannot_be_a_node(host):
    with pytest.raises(BoundError, match=BOUND) as info:
        load(host)
    assert f'its node "{host}" is the launcher\'s own' in str(info.value)


def test_no_address_of_the_launcher_can_be_a_node():
    own = addresses.getOwnAddresses()
    assert ipaddress.ip_address('127.0.0.1') in own
    for address in own:
        with pytest.raises(BoundError, match=BOUND):
            load(str(address))


@pytest.mark.parametrize('host', ELSEWHERE)
def test_other_machines_can_be_nodes(host):
    assert load(host)


@pytest.mark.parametrize('hosts, good, bad', [
    ('127.0.0.1', ['127.0.0.1', '127.1', '::ffff:127.0.0.1'],
     ['127.0.0.2', '198.51.100.1', '::1']),
    ('localhost', ['localhost', 'LOCALHOST.'], ['127.0.0.1', 'desk']),
    ('desk.example.com, 10.0.0.0/8',
     # Where the name leads is known when it is connected to.
     ['desk.example.com', 'DESK.example.com.', '10.1.2.3', '10.1', 'name'],
     ['198.51.100.1', '127.0.0.1', '::1']),
    ('fd00::/8', ['fd12::1'], ['fe80::1', '10.0.0.1']),
    ('0.0.0.0/0 ::/0', ['127.0.0.1', '::1', 'desk'], []),
    ('', [], ['198.51.100.1', 'desk', '127.0.0.1'])])
def test_the_operator_says_which_machines_are_nodes(hosts, good, bad):
    for host in good:
        assert load(host, hosts=hosts)
    for host in bad:
        with pytest.raises(BoundError, match=(
                f'its node "{host}" is not a machine that {BOUND} allows')):
            load(host, hosts=hosts)


def test_an_entry_that_is_no_host_is_an_error():
    with pytest.raises(ValueError, match=(
            f'{BOUND}: "https://a" is not the name of a host, an address or '
            'a network')):
        getConnections(hosts='https://a')


@pytest.fixture
def resolve(monkeypatch):
    """:return: a function that says which address the name has."""
    real = socket.getaddrinfo
    found = []
    monkeypatch.setattr(
        socket, 'getaddrinfo', lambda host, *args, **kwargs: real(
            found[0] if host == NAME else host, *args, **kwargs))
    return found.append


def makeNode(port):
    return checkedStaticNodes(port, name=NAME, connection_type='winrm')


def setHosts(launcher, hosts):
    """Change what the launcher's zuul.conf says."""
    connection = launcher.connections.connections['null']
    connection.hosts = addresses.Hosts(hosts, 'the option')


@pytest.mark.parametrize('hosts', [None, '10.0.0.0/8'])
@pytest.mark.parametrize('address', ['127.0.0.1', '::ffff:127.0.0.1'])
def test_a_name_cannot_lead_to_the_launcher(
        steps, listen, resolve, log, hosts, address):
    listener = listen()
    resolve(address)
    setHosts(steps, hosts)
    steps.setLayout(makeNode(listener.port))
    steps.runUntil(lambda: steps.nodes(State.FAILED))
    assert re.search(rf'the node "{NAME}", at the address {address}, is .*'
                     + BOUND, log.text)
    assert listener.isQuiet()


@pytest.mark.parametrize('hosts', [NAME, '127.0.0.0/8'])
def test_a_name_may_lead_to_where_the_operator_says(
        steps, listen, resolve, hosts):
    listener = listen()
    resolve('127.0.0.1')
    setHosts(steps, hosts)
    steps.setLayout(makeNode(listener.port))
    steps.runUntil(lambda: steps.nodes(State.READY))


@pytest.mark.settings(liveness_memory=0)
def test_a_name_cannot_change_to_that_of_the_launcher(
        steps, listen, resolve, monkeypatch):
    """A node that was ready is looked at before a request gets it."""
    listener = listen()
    resolve('127.0.0.1')
    setHosts(steps, '127.0.0.0/8')
    steps.setLayout(makeNode(listener.port))
    steps.runUntil(lambda: steps.nodes(State.READY))
    listener.accept()
    setHosts(steps, None)
    steps.addRequest('big')
    steps.runUntil(lambda: steps.nodes(State.FAILED))
    assert listener.isQuiet()


def test_a_launcher_looks_at_the_machines_again(steps, listen):
    """Its zuul.conf says something else than that of the scheduler."""
    listener = listen()
    steps.writeLayout(checkedStaticNodes(listener.port))
    setHosts(steps, None)
    steps.runUntilRead()
    request = steps.addRequest('big')
    assert re.search(BOUND, steps.waitForReason(request))
    assert listener.isQuiet()


def test_a_check_does_not_connect_to_it(listen, resolve):
    listener = listen()
    resolve('127.0.0.1')
    provider = makeProvider(makeConfig({
        'name': NAME, 'label': 'desk', 'connection-port': listener.port}))
    provider.connection.hosts = addresses.Hosts(None, 'the option')
    said, = filter(None, (check.ask() for check in provider.getChecks()))
    assert re.match(f'Unable to connect: the node "{NAME}", .*{BOUND}', said)
    assert listener.isQuiet()


def setMachine(steps, tenant, name, slots=1):
    """Give a tenant a node of its own."""
    text = checkedStaticNodes(22, name=name, defaults=(
        f'{{host-key-checking: false, slots: {slots}}}'))
    for kind in 'name', 'section':
        text = text.replace(f'{kind}: desk\n', f'{kind}: {tenant}\n')
    number = len(steps.nodes(State.READY))
    steps.setLayout(text, tenant)
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == number + slots)


def setMachines(steps, *names):
    """:return: requests of two tenants, each with a node of its own."""
    for tenant, name in zip(('first', 'second'), names, strict=True):
        setMachine(steps, tenant, name)
    return [steps.addRequest('big', tenant=tenant)
            for tenant in ('first', 'second')]


@pytest.mark.parametrize('names', [
    ('127.0.0.1', '127.1'), ('::ffff:127.0.0.1', '0x7f.1'),
    ('fd00::1', 'FD00:0::1'), ('other.example.com', 'OTHER.example.com.'),
    (NAME, '127.0.0.1'), ('127.1', NAME), (NAME, 'localhost')],
    ids=' '.join)
def test_a_machine_is_the_same_however_it_is_spelt(steps, resolve, names):
    resolve('127.0.0.1')
    first, second = setMachines(steps, *names)
    steps.runUntil(lambda: isDone(first))
    steps.runUntilWaiting(second)
    finish(steps, first)
    steps.serve(second)


@pytest.mark.parametrize('names', [
    ('127.0.0.1', '127.0.0.2'), (NAME, '127.0.0.2'),
    ('fe80::1%eth0', 'fe80::1%eth1'), ('name', 'other')], ids=' '.join)
def test_other_machines_are_used_at_once(steps, resolve, names):
    resolve('127.0.0.1')
    for request in setMachines(steps, *names):
        steps.serve(request)


def test_a_name_is_the_same_machine_when_it_moves(steps, resolve):
    """Two records of it were made at different times."""
    resolve('127.0.0.1')
    first, second = setMachines(steps, NAME, NAME)
    node, _ = steps.nodes()
    with steps.context() as context:
        node.updateAttributes(context, host_id='127.0.0.2')
    steps.runUntil(lambda: isDone(first))
    steps.runUntilWaiting(second)


def test_slots_are_of_the_machine_of_their_host(steps, resolve):
    """And the record with the fewest counts for all."""
    resolve('127.0.0.1')
    setMachine(steps, 'first', NAME, slots=2)
    setMachine(steps, 'second', '127.1')
    request, _ = steps.serveNew('big', tenant='first')
    others = [steps.addRequest('big', tenant=tenant)
              for tenant in ('second', 'first')]
    for other in others:
        steps.runUntilWaiting(other)
        finish(steps, request)
        steps.serve(other)
        request = other


def test_a_name_without_an_address_is_a_machine(steps, monkeypatch):
    real = socket.getaddrinfo

    def getaddrinfo(host, *args, **kwargs):
        if host == NAME:
            raise socket.gaierror(-2, 'Name or service not known')
        return real(host, *args, **kwargs)
    monkeypatch.setattr(socket, 'getaddrinfo', getaddrinfo)
    setMachine(steps, 'first', NAME)
    steps.serveNew('big', tenant='first')


def test_other_nodes_do_not_wait_for_a_name(steps, monkeypatch):
    real, answered = socket.getaddrinfo, threading.Event()

    def getaddrinfo(host, *args, **kwargs):
        assert host != NAME or answered.wait(TIMEOUT)
        return real('127.0.0.1' if host == NAME else host, *args, **kwargs)
    monkeypatch.setattr(socket, 'getaddrinfo', getaddrinfo)
    steps.setLayout(checkedStaticNodes(
        22, name=NAME, defaults='{host-key-checking: false}'), 'first')
    setMachine(steps, 'second', '127.0.0.1')
    steps.serveNew('big', tenant='second')
    answered.set()
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 1)
