"""An image is tried in an emulated cloud, with OpenSSH's real programs."""

import getpass
import json
import os
import shlex
import signal
import subprocess
import tempfile

import pytest

from tests.emulators.openstack import OpenStack
from tests.fixtures.hostkeys import HostKey
from tests.fixtures.sshservers import SSHServer
from zuul_nodes import cmd
from zuul_nodes.cmd.common import limits
from zuul_nodes.cmd.dibtest import openssh, openstackimage
from zuul_nodes.cmd.dibtest.errors import BrokenImage
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.process import waitFor
from zuul_nodes.quickstart.quickstart import Quickstart

TIMEOUT = 60
DATA = b'QFI\xfb' + os.urandom(1000)
SERVERS = r'/compute/v2.1/servers'


@pytest.fixture(scope='module')
def sshd(tmp_path_factory):
    """:return: the machine that each server turns out to be."""
    server = SSHServer(tmp_path_factory.mktemp('sshd'))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    emulator = OpenStack()
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(
        emulator.writeConfig(tmp_path / 'clouds.yaml')))
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    # Each server has a floating IP, for which there is one machine.
    emulator.neutron.getSubnet(emulator.neutron.public).update(
        allocation_pools=[{'start': ports.LOOPBACK, 'end': ports.LOOPBACK}])
    yield emulator
    emulator.end()


@pytest.fixture
def booted(cloud, sshd):
    """:return: the servers that have become active, each with its image
        and the data of that; they let in who has their key, and show their
        host key on the console."""
    servers = []

    def boot(server):
        image_id = server['image']['id']
        servers.append((dict(server), cloud.glance.images[image_id],
                        cloud.glance.data[image_id]))
        sshd.keys.authorized_keys.write_text(
            cloud.nova.keypairs[server['key_name']]['public_key'])
        cloud.nova.consoles[server['id']] = makeConsole(sshd.keys.host_key)

    cloud.nova.on_active = boot
    return servers


@pytest.fixture
def arguments(sshd, tmp_path):
    image = tmp_path / 'debian.qcow2'
    image.write_bytes(DATA)
    return ['dib-test', '--cloud', 'emulator', '--ssh-port', str(sshd.port),
            '--ssh-timeout', '30', '--username', getpass.getuser(), str(image)]


@pytest.fixture
def dibTest(arguments, capsys, monkeypatch):
    """:return: a function of more arguments that runs the command; gives
        its exit status, its result, and what it said."""
    # The emulator is quicker than a cloud.
    monkeypatch.setattr(limits, 'SHORTEST', 0.01)

    def run(*more):
        status = cmd.main([*arguments, '--format', 'json', *more])
        out, err = capsys.readouterr()
        return status, json.loads(out), err
    return run


def makeConsole(host_key):
    return (f'[   12.3] cloud-init: ready\r\n'
            f'-----BEGIN SSH HOST KEY KEYS-----\r\n'
            f'{HostKey(host_key).line}\r\n'
            f'-----END SSH HOST KEY KEYS-----\r\nlogin: ')


def isEmpty(cloud):
    return not (cloud.nova.servers or cloud.nova.keypairs
                or cloud.glance.images or cloud.neutron.ports
                or cloud.neutron.floatingips)


def getDeleted(cloud):
    return [path.split('/')[-2] for method, path in cloud.calls
            if method == 'DELETE']


def test_success(cloud, booted, dibTest, sshd, tmp_path):
    tmp_path.joinpath('user-data').write_text('#!/bin/sh\n')
    status, result, err = dibTest(
        '--command', 'echo $((6 * 7))', '--property', 'hw_disk_bus=scsi',
        '--flavor', 'm1.medium', '--network', 'private',
        '--user-data', str(tmp_path / 'user-data'))
    assert (status, result['result'], result['problems']) == (
        0, 'SUCCESS', [])
    assert result['command'] == {
        'command': 'echo $((6 * 7))', 'status': 0, 'stdout': '42\n',
        'stderr': ''}
    assert result['host-keys'] == {
        'source': 'console', 'fingerprints': [
            f'ssh-ed25519 {sshd.key.fingerprint}']}
    assert result['address'] == ports.LOOPBACK
    (server, image, data), = booted
    assert data == DATA
    assert (image['disk_format'], image['hw_disk_bus']) == ('qcow2', 'scsi')
    assert server['name'] == image['name'] == result['name']
    assert server['config_drive'] == 'True'
    assert server['OS-EXT-SRV-ATTR:user_data'] == 'IyEvYmluL3NoCg=='
    flavor = cloud.nova.flavors[server['flavor']['id']]
    assert flavor['name'] == 'm1.medium'
    # All is gone, in an order in which nothing is in use.
    assert isEmpty(cloud)
    assert getDeleted(cloud) == [
        'servers', 'floatingips', 'os-keypairs', 'images']
    lines = err.splitlines()
    assert [line.partition(' ... ok, ')[0] for line in lines] == [
        'Connect to the cloud', 'Upload the image', 'Boot a server',
        'Log in', 'Run the command', 'Remove the server',
        'Remove the floating IP', 'Remove the key pair', 'Remove the image']
    assert not list(tmp_path.glob('dib-test-*'))


def test_text(cloud, booted, arguments, capsys, sshd):
    assert cmd.main([*arguments, '--command', 'echo all is well']) == 0
    out, err = capsys.readouterr()
    assert err == ''
    for expected in ('Boot a server ... ok, ', '| Total ', 'SUCCESS',
                     'Host keys, compared with the console:',
                     sshd.key.fingerprint,
                     '    all is well'):
        assert expected in out


@pytest.mark.parametrize('console', ['no keys yet', None])
def test_console_without_keys(cloud, booted, dibTest, console, sshd):
    def boot(server, boot=cloud.nova.on_active):
        boot(server)
        cloud.nova.consoles[server['id']] = console
    cloud.nova.on_active = boot
    status, result, _ = dibTest()
    assert status == 0
    assert result['host-keys']['source'] == 'scan'


@pytest.mark.parametrize('late', [False, True])
def test_wrong_host_key(cloud, booted, dibTest, sshd, tmp_path, late):
    other = HostKey(tmp_path / 'other')

    def boot(server, boot=cloud.nova.on_active):
        boot(server)
        cloud.nova.consoles[server['id']] = makeConsole(other.path)
    cloud.nova.on_active = boot
    if late:
        # There is nothing yet when it is looked at before the login.
        cloud.inject('POST', f'{SERVERS}/.*/action', status=404)
    status, result, _ = dibTest()
    assert (status, result['result']) == (1, 'FAILURE')
    problem, = result['problems']
    assert 'wrong host key' in problem
    assert other.fingerprint in problem
    assert sshd.key.fingerprint in problem
    assert (result['command'] is not None) == late
    assert isEmpty(cloud)


def test_server_in_error(cloud, dibTest):
    cloud.nova.faults.append('Image is corrupt.')
    status, result, _ = dibTest()
    assert status == 1
    assert result['problems'] == [
        '"Boot a server" failed: the server is in ERROR: Image is corrupt.']
    assert isEmpty(cloud)


def test_server_is_never_active(cloud, dibTest):
    cloud.nova.build_polls = None
    status, result, _ = dibTest('--boot-timeout', '0.5')
    assert status == 1
    assert result['problems'] == [
        '"Boot a server" failed: the server is not active after 0.5 s']
    assert isEmpty(cloud)


def test_no_ssh(cloud, booted, dibTest):
    port = ports.freePort()
    status, result, err = dibTest(
        '--ssh-port', str(port), '--ssh-timeout', '0.5')
    assert status == 1
    assert result['problems'] == [
        f'"Log in" failed: no ssh at {ports.LOOPBACK} port {port} within '
        f'0.5 s']
    # What the server has to say for itself.
    assert '[   12.3] cloud-init: ready\n' in err
    assert isEmpty(cloud)


def test_no_login(cloud, booted, dibTest, sshd, tmp_path):
    """The key that the server knows is not the one that we have."""
    HostKey(tmp_path / 'key')
    cloud.nova.keypairs['mine'] = {
        'name': 'mine', 'public_key': HostKey(tmp_path / 'other').line}
    status, result, _ = dibTest(
        '--key-name', 'mine', '--private-key', str(tmp_path / 'key'),
        # For one attempt at least, of a busy machine.
        '--ssh-timeout', '10')
    assert status == 1
    assert 'no login as' in result['problems'][0]
    assert 'Permission denied' in result['problems'][0]
    assert list(cloud.nova.keypairs) == ['mine']
    del cloud.nova.keypairs['mine']
    assert isEmpty(cloud)


def test_login_that_runs_nothing(cloud, booted, dibTest, sshd):
    """As cloud-init does it with root."""
    def boot(server, boot=cloud.nova.on_active):
        boot(server)
        keys = sshd.keys.authorized_keys
        keys.write_text(
            'command="echo Please login as the user debian; exit 142" '
            + keys.read_text())
    cloud.nova.on_active = boot
    status, result, _ = dibTest()
    assert status == 1
    assert 'Please login as the user debian' in result['problems'][0]
    assert isEmpty(cloud)


@pytest.mark.parametrize('command, timeout, expected', [
    ('echo broken >&2; exit 3', 30, 'failed with status 3'),
    ('sleep 60', 1, 'did not finish within 1 s'),
])
def test_failing_command(cloud, booted, dibTest, command, timeout, expected):
    status, result, _ = dibTest('--command', command,
                                '--command-timeout', str(timeout))
    assert status == 1
    assert result['problems'] == [
        f'"Run the command" failed: "{command}" {expected}']
    if 'echo' in command:
        assert result['command']['stderr'] == 'broken\n'
    assert isEmpty(cloud)


def test_keep(cloud, booted, dibTest):
    status, result, _ = dibTest('--keep')
    assert status == 0
    assert getDeleted(cloud) == []
    kept = result['kept']
    assert kept['cloud'] == ['server', 'floating IP', 'key pair', 'image']
    # One can log in as it says.
    login = subprocess.run(
        [*shlex.split(kept['ssh']), '-o', 'BatchMode=yes', 'echo in'],
        capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert login.stdout == 'in\n', login.stderr


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_interrupted(cloud, arguments, number):
    cloud.nova.build_polls = None
    process = subprocess.Popen(
        [Quickstart.program('zuul-nodes'), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        waitFor(lambda: any(
            method == 'GET' and path.startswith(f'{SERVERS}/')
            for method, path in cloud.calls), 'a server', TIMEOUT)
        process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, err) == (128 + number, '')
    assert 'Boot a server ... interrupted' in out
    assert 'INTERRUPTED' in out
    assert getDeleted(cloud) == ['servers', 'os-keypairs', 'images']
    assert isEmpty(cloud)


@pytest.mark.parametrize('path, status', [
    (SERVERS, None), (SERVERS, 504), ('/compute/v2.1/os-keypairs', None),
    ('/image/v2/images', None), ('/network/v2.0/floatingips', None)])
def test_lost_answer(cloud, booted, dibTest, path, status):
    cloud.inject('POST', path, acts=True, status=status)
    status, result, _ = dibTest()
    assert (status, result['result']) == (2, 'ERROR')
    assert len(result['problems']) == 1
    # What was made without our knowing is what is removed.
    assert path.rpartition('/')[2] in getDeleted(cloud)
    assert isEmpty(cloud)


def test_late_server(cloud, booted, dibTest, monkeypatch):
    """It is made after the call has timed out, and after a first look."""
    fault = cloud.inject('POST', SERVERS, hangs=True, acts=True)
    looks = []
    listKind = openstackimage.OpenStackImage._list

    def look(self, kind):
        looks.append(kind)
        if len(looks) == 2:
            fault.release()
        return listKind(self, kind)

    monkeypatch.setattr(openstackimage.OpenStackImage, '_list', look)
    status, _, _ = dibTest('--api-timeout', '0.5')
    assert status == 2
    assert getDeleted(cloud) == ['servers', 'os-keypairs', 'images']
    assert isEmpty(cloud)


def test_quota(cloud, dibTest):
    cloud.nova.limits['instances'] = 0
    status, result, _ = dibTest()
    assert status == 2
    assert result['problems'] == [
        '"Boot a server" failed: the cloud answered 403: Quota exceeded for '
        'instances: Requested 1, but already used 0 of 0 instances']
    assert isEmpty(cloud)


def test_refused_deletion(cloud, booted, dibTest):
    """The cloud is out of order for a while, and things are in use."""
    for path, status in ((f'{SERVERS}/.*', 500), (f'{SERVERS}/.*', None),
                         ('/network/v2.0/floatingips/.*', 503),
                         ('/image/v2/images/.*', 409)):
        cloud.inject('DELETE', path, status=status)
    status, result, _ = dibTest()
    assert (status, result['problems']) == (0, [])
    assert isEmpty(cloud)


def test_server_stays(cloud, booted, dibTest, monkeypatch):
    cloud.nova.delete_polls = None
    removeAll = openstackimage.OpenStackImage.removeAll
    # The other kinds may take the time that a busy machine needs.
    monkeypatch.setattr(
        openstackimage.OpenStackImage, 'removeAll',
        lambda self, kind, timeout: removeAll(
            self, kind, timeout if kind == 'server' else TIMEOUT))
    status, result, _ = dibTest('--cleanup-timeout', '0.5')
    assert status == 2
    assert result['problems'] == [
        f'the server {result["name"]} is not gone after 0.5 s']
    # What can be removed is.
    assert not (cloud.nova.keypairs or cloud.glance.images)


def test_polling_survives_a_bad_moment(cloud, booted, dibTest):
    cloud.inject('GET', f'{SERVERS}/.*', status=502, times=2)
    cloud.inject('GET', f'{SERVERS}/.*')
    assert dibTest()[0] == 0


def test_upload_takes_too_long(cloud, dibTest):
    cloud.inject('PUT', '/image/.*/file', hangs=True)
    status, result, _ = dibTest('--upload-timeout', '0.5')
    assert status == 2
    assert result['problems'] == [
        '"Upload the image" failed: the image is not active after 0.5 s']
    assert isEmpty(cloud)


def test_no_floating_ip(cloud, booted, dibTest, sshd):
    """The server is reached where it is."""
    cloud.neutron.getSubnet(cloud.neutron.private).update(
        allocation_pools=[{'start': ports.LOOPBACK, 'end': ports.LOOPBACK}])
    status, result, _ = dibTest('--no-floating-ip')
    assert (status, result['address']) == (0, ports.LOOPBACK)
    assert ('POST', '/network/v2.0/floatingips') not in cloud.calls


@pytest.mark.parametrize('more, expected', [
    (['--flavor', 'm1.huge'],
     'the cloud has no flavor "m1.huge". There are: m1.tiny, m1.small, '
     'm1.medium'),
    (['--min-ram', '100000'], 'the cloud has no flavor with 100000 MB'),
    (['--network', 'nowhere'],
     'the cloud has no network "nowhere". There are: private, public'),
    (['--key-name', 'none'], 'the cloud has no key pair "none"'),
    (['--cloud', 'none'], 'Cloud none was not found'),
])
def test_user_errors(cloud, dibTest, more, expected):
    status, result, _ = dibTest(*more)
    assert status == 2
    assert expected in result['problems'][0]
    assert isEmpty(cloud)
    # Before any time is spent on an upload.
    assert ('POST', '/image/v2/images') not in cloud.calls


def test_wrong_password(cloud, dibTest):
    password = cloud.keystone.users['zuul']['password']
    cloud.keystone.users['zuul']['password'] = 'changed'
    status, result, err = dibTest()
    assert status == 2
    assert 'authentication' in result['problems'][0]
    assert password not in err + json.dumps(result)


def test_disk_format(cloud, booted, dibTest, arguments, tmp_path):
    tmp_path.joinpath('debian.qcow2').rename(tmp_path / 'debian.img')
    arguments[-1] = str(tmp_path / 'debian.img')
    status, result, _ = dibTest()
    assert status == 2
    assert 'use --disk-format with one of qcow2, raw' in result['problems'][0]
    assert cloud.calls == []
    assert dibTest('--disk-format', 'raw')[0] == 0


@pytest.mark.parametrize('wrong', [
    ['--property', 'nothing'], ['--ssh-port', '0'], ['--name', 'a b'],
    ['--boot-timeout', '-1'], ['--min-ram', '1', '--flavor', 'x'],
    ['--private-key', '/no/key'], ['--disk-format', 'zip']])
def test_wrong_usage(arguments, wrong, capsys):
    with pytest.raises(SystemExit) as exit_info:
        cmd.main([*arguments, *wrong])
    assert exit_info.value.code == 2
    assert wrong[0] in capsys.readouterr().err


def test_help_tells_the_exit_status(zuulNodes):
    result = zuulNodes('dib-test', '--help')
    assert result.returncode == 0
    assert 'The exit status is 0 if the image works.' in result.stdout


def test_needs_no_zuul(cloud, booted, arguments, runProgram, tmp_path):
    result = runProgram('cook', '''
import sys
for name in ('zuul', 'kazoo'):
    sys.modules[name] = None
from zuul_nodes import cmd
sys.exit(cmd.main(sys.argv[1:]))
''', *arguments)
    assert result.returncode == 0, result.stderr


def test_needs_openstacksdk(cloud, arguments, runProgram):
    result = runProgram('cook', '''
import sys
sys.modules['openstack'] = sys.modules['keystoneauth1'] = None
from zuul_nodes import cmd
sys.exit(cmd.main(sys.argv[1:]))
''', *arguments)
    assert result.returncode == 2
    assert 'pip install zuul-nodes[openstack]' in result.stderr


def test_broken_pipe(cloud, arguments):
    """Nobody reads what it says; it cleans up all the same."""
    cloud.nova.build_polls = None
    process = subprocess.Popen(
        [Quickstart.program('zuul-nodes'), *arguments, '--boot-timeout',
         '0.5'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.close()
    assert process.wait(TIMEOUT) == 1
    assert isEmpty(cloud)


def test_host_key_changes(sshd, tmp_path):
    ssh = openssh.SSH(tmp_path, ports.LOOPBACK, sshd.port,
                      getpass.getuser(), sshd.keys.user_key)
    key_type, key = HostKey(tmp_path / 'other').recorded.split()
    ssh.trust({key_type: key})
    with pytest.raises(BrokenImage, match='has changed'):
        ssh.logIn()


def test_host_keys_of_a_console(tmp_path):
    first, second = HostKey(tmp_path / '1'), HostKey(tmp_path / '2')
    found = openssh.findHostKeys(
        makeConsole(first.path) + 'reboot\r\n' + makeConsole(second.path))
    key_type, key = second.recorded.split()
    assert found == {key_type: key}
    assert openssh.getFingerprint(key) == second.fingerprint
