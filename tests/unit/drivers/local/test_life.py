"""The lives of nodes: real ones, that one can log in to."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import pytest

from tests.fixtures.claims import getClaims
from tests.fixtures.ending import endWith
from tests.fixtures.processes import askAll, withChildren
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.local import sites
from tests.unit.drivers.local.sites import TIMEOUT, ssh
from zuul_nodes.drivers import DriverError, State
from zuul_nodes.drivers.local import machines, sandbox
from zuul_nodes.drivers.local.entries import Entries

NODE = '0123456789abcdef0123456789abcdef'
# What the machine calls the node.
NAME = f'np{NODE}'


def getPids(site):
    return {process.pid for process in site.getProcesses(NAME)}


def run(key, instance, command, *options):
    """:return: what a command says that works."""
    result = ssh(key, instance, command, *options)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def assertNothingLeft(directory):
    mark = Entries(directory / 'local/nodes', None).getMark(NAME)
    assert not sandbox.find()[mark]
    assert os.listdir(directory / 'local/nodes') == []
    assert NAME not in pathlib.Path(
        '/proc/self/mountinfo').read_text()
    waitFor(lambda: not getClaims(directory / 'local/nodes'))


def test_life(site, key, directory):
    node = site.makeNode(NODE)
    instance = site.create(node)
    assert (node.interface_ip, node.username, node.connection_type,
            node.connection_port, node.host_keys) == (
        '127.0.0.1', 'zuul', 'ssh', instance.connection_port,
        instance.host_keys)
    assert node.quota.getResources() == {'instances': 1}
    # The host key is checked.
    assert run(key, instance, 'id -un; pwd') == 'zuul\n/home/zuul'
    assert run(key, instance, 'tty', '-tt') == '/dev/pts/0'
    assert run(key, instance, 'touch /new; echo $HOME > /etc/new') == ''
    copied = directory / 'copied'
    subprocess.run(
        ['sftp', '-F', 'none', '-b', '-', '-i', key, '-P',
         str(instance.connection_port), '-o',
         f'UserKnownHostsFile={directory}/known_hosts',
         'zuul@127.0.0.1'], input=f'get /etc/new {copied}\n', text=True,
        check=True, timeout=TIMEOUT, stdout=subprocess.DEVNULL)
    assert copied.read_text() == '/home/zuul\n'
    assert 'Server listening' in site.provider.getConsoleLog(None, node)
    listed, = site.endpoint.listInstances()
    assert (listed.external_id, listed.metadata, listed.connection_port) == (
        NAME, node.tags, instance.connection_port)
    run(key, instance, 'mkdir /locked; touch /locked/file; chmod 0 /locked')
    # What goes on after the session.
    run(key, instance, '(setsid sleep 1000 > /dev/null 2>&1 &)')
    site.delete(node)
    assertNothingLeft(directory)
    assert list(site.endpoint.listInstances()) == []
    # Once more, though it is gone.
    site.delete(site.makeNode(NODE))
    site.delete(site.makeNode('1' * 32))


def test_a_node_resolves_its_own_name(site, key):
    """Which the role that validates images asks for by default."""
    instance = site.create(site.makeNode(NODE))
    port = instance.connection_port
    assert run(key, instance, f"""bash -c '
        exec 3<> /dev/tcp/$HOSTNAME/{port}; read -u 3 line; echo $line'"""
        ).startswith('SSH-2.0-')


def test_others_are_not_let_in(site, key, directory):
    instance = site.create(site.makeNode(NODE))
    other = directory / 'other'
    subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
                    other], check=True)
    result = ssh(other, instance, 'true', '-o', 'IdentityAgent=none')
    assert 'Permission denied (publickey)' in result.stderr
    instance.username = 'root'
    assert ssh(key, instance, 'true').returncode


def test_isolation(site, key, directory):
    instance = site.create(site.makeNode(NODE))
    other_node = site.makeNode('1' * 32)
    other = site.create(other_node)
    assert other.host_keys != instance.host_keys
    assert other.connection_port != instance.connection_port
    outside = directory / 'outside'
    outside.write_text('outside')
    outside.chmod(0o644)
    result = ssh(key, instance, f'cat {outside} /etc/shadow')
    assert result.stderr.count('No such file or directory') == 2
    assert set(run(key, instance, 'ls -d /proc/[0-9]*').split()) <= {
        f'/proc/{number}' for number in range(100)}
    # Nobody else's, whatever it says it is.
    result = ssh(key, instance, 'kill -9 -1; echo')
    run(key, other, 'echo alive')
    result = ssh(key, other, 'echo x > /proc/sys/kernel/core_pattern')
    assert result.returncode
    capabilities = run(key, other, 'while read name value; do case $name in '
                       'CapPrm:|CapEff:) echo $value;; esac; '
                       'done < /proc/self/status')
    assert set(capabilities) <= set('0\n')
    site.delete(other_node)
    assert not site.getProcesses('np' + '1' * 32)


def test_root_outside_is_not_the_user(site, key):
    instance = site.create(site.makeNode(NODE))
    run(key, instance, 'true')
    found = askAll(
        withChildren(site.getProcesses(NAME)), lambda process: (
            process.name(), 0 in {*process.uids(), *process.gids()}))
    roots = [name for name, is_root in found.values() if is_root]
    # It holds the user for the node, from outside.
    assert roots == ([] if os.geteuid() else ['sh'])
    assert len(found) > len(roots)


def test_the_user_is_as_the_image_says_or_not(makeSite, archive, key):
    site = makeSite(image_path=str(archive), username='someone')
    instance = site.create(site.makeNode(NODE))
    assert run(key, instance, 'id -un; id -u; pwd') == (
        'someone\n1000\n/home/someone')


@pytest.mark.parametrize('username', ['root', 'a b', '-x', "a'b"])
def test_users_that_can_not_be(makeSite, archive, username):
    site = makeSite(image_path=str(archive), username=username)
    with pytest.raises(DriverError, match='ordinary') as info:
        site.create(site.makeNode(NODE))
    assert info.value.failure == 'permanent'


@pytest.mark.parametrize('point', ['copying', 'booting'])
@pytest.mark.parametrize('recorded', [True, False])
def test_launcher_is_killed(site, options, archive, key, directory, point,
                            recorded):
    launcher = subprocess.Popen(
        [sys.executable, sites.__file__, json.dumps(
            {'options': options, 'image_path': str(archive)}), NODE, point],
        env={**os.environ, 'PYTHONPATH': os.getcwd()},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with launcher:
        said = json.loads(launcher.stdout.readline())
        before = getPids(site)
        launcher.send_signal(signal.SIGKILL)
    node = site.makeNode(NODE, create_state=said if recorded else {})
    instance = site.create(node)
    assert run(key, instance, 'id -un') == 'zuul'
    if point == 'booting':
        # It is still the same one.
        assert min(before) in getPids(site)
    site.delete(node)
    assertNothingLeft(directory)


def test_a_node_in_another_directory_is_left_alone(
        site, options, archive, key, directory, request):
    """Though it has the same name: two Zuuls may share a machine."""
    other = endWith(request, sites.Site(
        options | {'directory': str(directory / 'other')},
        image_path=os.fspath(archive)))
    site.create(site.makeNode(NODE))
    instance = other.create(other.makeNode(NODE))
    pids = getPids(other)
    site.delete(site.makeNode(NODE))
    assertNothingLeft(directory)
    assert getPids(other) == pids
    assert run(key, instance, 'id -un') == 'zuul'
    other.delete(other.makeNode(NODE))
    assert not getPids(other)


def test_another_launcher_finds_it(site, makeSite, key, directory):
    node = site.makeNode(NODE)
    created = site.create(node)
    pids = getPids(site)
    site.end()
    site = makeSite()
    instance, = site.endpoint.listInstances()
    assert instance.metadata == node.tags
    assert run(key, instance, 'id -un') == 'zuul'
    # It may have to create it, for all that is recorded.
    again = site.create(site.makeNode(NODE))
    assert (again.connection_port, again.host_keys) == (
        created.connection_port, created.host_keys)
    assert getPids(site) == pids
    site.delete(site.makeNode(NODE))
    assertNothingLeft(directory)


def test_steps_of_deletion_are_repeated(site, makeSite, directory):
    node = site.makeNode(NODE)
    site.create(node)
    # What a launcher has done that was killed then.
    sandbox.kill(Entries(directory / 'local/nodes', None).getMark(NAME))
    (directory / 'local/nodes' / NAME / 'config/host_key').unlink()
    resource, = (each for each in site.endpoint.listResources([])
                 if each.type == 'instance')
    assert (resource.unique_id, resource.metadata) == (NAME, node.tags)
    site.end()
    site = makeSite()
    site.endpoint.deleteResource(resource)
    waitFor(lambda: not list(site.endpoint.listInstances()))
    assertNothingLeft(directory)
    site.endpoint.deleteResource(resource)


def test_deleted_while_it_is_made(site, directory):
    node = site.makeNode(NODE)
    machine = site.provider.getCreateStateMachine(node, None, site.log)
    while machine.state != machine.BOOTING:
        site.advance(machine)
    site.delete(node)
    assertNothingLeft(directory)


def test_two_launchers(site, makeSite, directory):
    """Both list all nodes; only one of them makes a node."""
    other = makeSite()
    copying, goOn = threading.Event(), threading.Event()
    copyTo = site.images.copyTo

    def copySlowly(*args):
        copying.set()
        assert goOn.wait(TIMEOUT)
        copyTo(*args)

    site.images.copyTo = copySlowly
    other.images.copyTo = None
    machine = site.provider.getCreateStateMachine(
        site.makeNode(NODE), None, site.log)
    waitFor(lambda: site.advance(machine) or copying.is_set())
    listed, = other.endpoint.listInstances()
    waitFor(lambda: not other.adapter.tasks)
    assert listed.state is State.BUILDING
    deletion = other.provider.getDeleteStateMachine(
        other.makeNode(NODE), other.log)
    waitFor(
        lambda: other.advance(deletion) or other.adapter.tasks)
    assert list(other.endpoint.listInstances())
    goOn.set()
    other.finish(deletion)
    assertNothingLeft(directory)


def test_stopped_while_it_copies(site):
    """The launcher does not wait; another one goes on."""
    copying, goOn = threading.Event(), threading.Event()
    ended = threading.Event()

    def copySlowly(*args):
        copying.set()
        assert goOn.wait(TIMEOUT)

    def stop():
        site.end()
        ended.set()

    site.images.copyTo = copySlowly
    machine = site.provider.getCreateStateMachine(
        site.makeNode(NODE), None, site.log)
    waitFor(lambda: site.advance(machine) or copying.is_set())
    thread = threading.Thread(target=stop)
    thread.start()
    try:
        assert ended.wait(TIMEOUT / 2)
    finally:
        goOn.set()
        thread.join()
        waitFor(lambda: not site.adapter.tasks)


def test_stopped_while_it_is_asked(site, makeSite):
    """That is no failure of the node; another launcher goes on."""
    site.adapter.stop()
    node = site.makeNode(NODE)
    machine = site.provider.getCreateStateMachine(node, None, site.log)
    waitFor(
        lambda: site.advance(machine) or machine.state == machine.BOOTING)
    listed, = site.endpoint.listInstances()
    assert listed.state is State.BUILDING
    makeSite().create(node)


def test_lock_whose_file_is_removed(site):
    """Whoever has waited for it has one that keeps out others."""
    entries = site.images.entries
    entries.prepare()
    locked, end = threading.Event(), threading.Event()

    def wait():
        with entries.lock('image', wait=True) as is_mine:
            assert is_mine
            locked.set()
            assert end.wait(TIMEOUT)

    thread = threading.Thread(target=wait)
    with entries.lock('image'):
        thread.start()
        waitFor(
            lambda: _count(entries.directory / 'image.lock') == 2)
        entries.removeEntry('image')
    try:
        assert locked.wait(TIMEOUT)
        with entries.lock('image') as is_mine:
            assert not is_mine
    finally:
        end.set()
        thread.join()


def _count(path):
    """:return: how often this process has opened a file."""
    return [os.path.realpath(each) for each in pathlib.Path(
        '/proc/self/fd').iterdir()].count(str(path))


def test_port_is_taken(site, key, monkeypatch):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        ports = [taken.getsockname()[1]] * 2
        find = machines._findPort
        monkeypatch.setattr(machines, '_findPort', lambda: (
            ports.pop() if ports else find()))
        instance = site.create(site.makeNode(NODE))
    assert not ports
    assert run(key, instance, 'id -un') == 'zuul'


def test_image_that_does_not_boot(makeSite, directory):
    root = directory / 'import/root'
    (root / 'usr/sbin').mkdir(parents=True)
    site = makeSite(image_path=str(root))
    for launcher in (site, makeSite(image_path=str(root))):
        with pytest.raises(DriverError, match='/bin/sh'):
            launcher.create(site.makeNode(NODE))


def test_directory_as_image(makeSite, archive, directory, key):
    root = directory / 'import/root'
    root.mkdir(parents=True)
    subprocess.run(['tar', '-xf', archive, '-C', root], check=True)
    (root / 'etc/passwd').write_text(
        'someone:x:1000:1000::/:/bin/false\n'
        'zuul:x:1500:1500:Zuul:/srv/zuul:/bin/sh')
    site = makeSite(image_path=str(root))
    instance = site.create(site.makeNode(NODE))
    assert run(key, instance, 'id -un; id -gn; pwd; echo $0') == (
        'zuul\nzuul\n/srv/zuul\nsh')
    run(key, instance, 'touch /new')
    assert not (root / 'new').exists()


@pytest.mark.parametrize('path', [
    '/etc/passwd', '{directory}/import/../key', '{directory}/import/link',
    '{directory}/import/missing'])
def test_images_that_are_not_for_tenants(makeSite, directory, path):
    (directory / 'import').mkdir()
    (directory / 'import/link').symlink_to('/etc/passwd')
    site = makeSite(image_path=path.format(directory=directory))
    with pytest.raises(DriverError, match='import_directories') as info:
        site.create(site.makeNode(NODE))
    assert info.value.failure == 'permanent'
