"""What a session on the first node finds."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

import psutil
import pytest

from tests.fixtures.processes import askAll
from zuul_nodes.quickstart import leftovers, ports
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.sshd import SSHD, SSHKeys
from zuul_nodes.quickstart.state import State


@pytest.fixture
def makeState():
    with contextlib.ExitStack() as stack:
        def makeState():
            # Each user can read this directory, so it is not what keeps
            # secrets out of reach.
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            os.chmod(directory, 0o755)
            state = State(f'{directory}/state')
            state.claim()
            stack.callback(state.release)
            return state
        yield makeState


@pytest.fixture
def state(makeState):
    return makeState()


@pytest.fixture
def shared(state):
    path = state.nodes / 'shared'
    path.mkdir()
    state.user.give(path)
    return path


@pytest.fixture
def makeNode():
    with contextlib.ExitStack() as stack:
        def makeNode(state, shared=None):
            node = SSHD(state.first_node, state.user, SSHKeys(state.keys),
                        ports.freePort(), {**os.environ, leftovers.VARIABLE:
                                           state.mark},
                        state.logs / 'sshd', shared)
            stack.callback(node.stop)
            node.start()
            return node
        yield makeNode


@pytest.fixture
def node(makeNode, state, shared):
    return makeNode(state, shared)


def run(node, command):
    """:return: the completed process of a command in a session."""
    return subprocess.run(
        ['ssh', '-F', 'none', '-o', 'StrictHostKeyChecking=no',
         '-o', 'UserKnownHostsFile=/dev/null', '-p', str(node.port),
         '-i', node.keys.user_key, 'zuul@127.0.0.1', command],
        capture_output=True, text=True, check=False, timeout=200)


def say(node, command):
    """:return: what a command says that works."""
    result = run(node, command)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_it_has_the_mark(node):
    assert say(node, f'echo ${leftovers.VARIABLE}') == (
        f'{node.environment[leftovers.VARIABLE]}\n')


def test_it_has_a_home_of_its_own(node):
    """A shell that begins reads nothing of the user's."""
    assert say(node, 'echo ~ $HOME; ls -A ~') == '/home/zuul /home/zuul\n'
    say(node, 'touch ~/file')
    assert [path.name for path in node.home.iterdir()] == ['file']


def test_it_is_not_root(node, state):
    assert say(node, 'id -un; id -u') == 'zuul\n1000\n'
    expected = os.geteuid() or state.user.uid
    with subprocess.Popen(
            ['ssh', '-F', 'none', '-o', 'StrictHostKeyChecking=no',
             '-o', 'UserKnownHostsFile=/dev/null', '-p', str(node.port),
             '-i', node.keys.user_key, 'zuul@127.0.0.1',
             'echo begun; read line'], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True) as session:
        try:
            assert session.stdout.readline() == 'begun\n'
            # Seen from the machine.
            started = psutil.Process(node.process.pid).children(
                recursive=True)
            users = askAll(started, psutil.Process.uids)
            assert set(users.values()) == {(expected,) * 3}
            # What a job leaves is found, with whatever user.
            names = askAll(leftovers.find(state.mark), psutil.Process.name)
            assert 'sh' in names.values()
        finally:
            session.kill()


def test_it_reads_no_secrets(node, state):
    certificates = Certificates(state.certificates)
    (state.run / 'zookeeper').write_text('secret')
    secrets = [node.keys.user_key, certificates.client_key,
               certificates.server_pem, state.run / 'zookeeper',
               state.sockets, '/root/.profile', pathlib.Path.home()]
    for secret in secrets:
        result = run(node, f'ls {secret} || cat {secret}')
        assert (result.stdout, result.returncode != 0) == ('', True), secret
    # Not by the processes of the machine, either.
    assert str(os.getpid()) not in say(node, 'ls /proc').split()


@pytest.mark.skipif(os.geteuid() != 0, reason='root alone has other users')
def test_the_user_outside_reads_no_secrets(node, state):
    """Were a job to get out of the sandbox, it would be its user."""
    Certificates(state.certificates)
    (state.run / 'zookeeper').write_text('secret')
    (state.sockets / 'build').write_text('secret')
    visible = [node.config / 'host_key', state.directory / 'visible']
    visible[1].touch()
    files = [path for directory in (state.directory, state.sockets)
             for path in directory.rglob('*') if path.is_file()]
    assert {'client.key', 'user_key', 'build', 'zookeeper'} <= {
        path.name for path in files}
    found = subprocess.run(
        state.user.wrap(['sh', '-c', 'for path; do test ! -r "$path" || '
                       'echo "$path"; done', 'sh', visible[0], *files]),
        stdout=subprocess.PIPE, text=True, check=True).stdout
    assert found.split() == list(map(str, visible))


@pytest.mark.skipif(os.geteuid() != 0, reason='root alone has other users')
def test_two_runs_cannot_reach_each_others_nodes(makeState, makeNode):
    states = [makeState(), makeState()]
    node, other = map(makeNode, states)
    say(other, 'echo secret > ~/file')
    assert node.user.uid != other.user.uid
    victim, *_ = psutil.Process(other.process.pid).children()
    tries = ['sh', '-c', 'kill -0 "$1" && echo kill; cat "$2"', 'sh',
             str(victim.pid), other.home / 'file']
    said = [subprocess.run(
        each.user.wrap(tries), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, check=False).stdout.split()
        for each in (node, other)]
    assert said == [[], ['kill', 'secret']]


def test_it_writes_to_one_directory(node, shared):
    say(node, f'echo image > {shared}/image')
    assert (shared / 'image').read_text() == 'image\n'
    assert run(node, 'touch /usr/file').returncode
    assert run(node, 'touch /etc/file').returncode


def test_it_has_the_programs_of_the_machine(node):
    assert 'bash' in say(node, 'dpkg-query --listfiles bash')
    assert say(node, 'python3 -c "print(1)"') == '1\n'
