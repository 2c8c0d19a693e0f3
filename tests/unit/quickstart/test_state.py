import os
import pathlib
import pwd
import stat
import subprocess
import sys

import psutil
import pytest

from tests.fixtures.claims import getClaims
from tests.fixtures.processes import hasEnded
from tests.fixtures.waiting import waitFor
from zuul_nodes import nodeusers
from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart import leftovers
from zuul_nodes.quickstart.state import State, defaultDirectory


@pytest.fixture
def claim():
    claimed = []

    def claimState(directory):
        state = State(directory)
        claimed.append(state)
        state.claim()
        return state
    yield claimState
    for state in claimed:
        state.release()


def test_a_run_starts_afresh_and_keeps_what_was_made_once(tmp_path, claim):
    state = claim(tmp_path / 'state')
    (state.run / 'rubbish').touch()
    state.keys.mkdir()
    sockets, nodes, mark = state.sockets, state.nodes, state.mark
    assert stat.S_IMODE(state.run.stat().st_mode) == 0o700
    state.release()
    assert not sockets.exists()
    # Root's is not in the directory.
    assert nodes.exists() == bool(os.geteuid())
    state = claim(tmp_path / 'state')
    assert not (state.run / 'rubbish').exists()
    assert state.keys.exists()
    assert state.mark != mark


def test_sockets_have_short_paths(tmp_path, claim):
    deep = tmp_path / ('d' * 100)
    assert len(str(claim(deep).sockets)) < 30


def test_one_at_a_time(tmp_path, claim):
    claim(tmp_path)
    with pytest.raises(UserError, match=f'process {os.getpid()}.*--dir'):
        claim(tmp_path)


def test_who_runs_is_found(tmp_path, claim):
    directory = tmp_path / 'state'
    assert State(directory).findOwner() is None
    state = claim(directory)
    assert State(directory).findOwner() == os.getpid()
    assert State(directory).readPlaces() is None
    state.writePlaces({'logs': 'there'})
    assert State(directory).readPlaces() == {'logs': 'there'}
    state.release()
    assert State(directory).findOwner() is None


@pytest.mark.parametrize('directory', ['/proc/quickstart',
                                       '/dev/null/quickstart'])
def test_not_writable(directory, claim):
    with pytest.raises(UserError, match=f'cannot write to {directory}'):
        claim(directory)


@pytest.mark.parametrize('name', ['two words', '100%', 'a:b', '"'])
def test_a_path_that_would_need_quotes(tmp_path, name, claim):
    with pytest.raises(UserError, match='choose another path'):
        claim(tmp_path / name)
    assert not os.listdir(tmp_path)


def test_a_directory_of_something_else_is_not_touched(tmp_path, claim):
    precious = tmp_path / 'run' / 'precious'
    precious.parent.mkdir()
    precious.touch()
    with pytest.raises(UserError, match='has other contents'):
        claim(tmp_path)
    assert precious.exists()


def test_what_a_killed_run_left_is_ended(tmp_path, claim):
    code = ('import os, subprocess, sys\n'
            'from zuul_nodes.quickstart.state import State\n'
            'state = State(sys.argv[1])\n'
            'state.claim()\n'
            'p = subprocess.Popen(["setsid", "sleep", "1000"],\n'
            '    stdout=subprocess.DEVNULL,\n'
            f'    env={{"{leftovers.VARIABLE}": state.mark,\n'
            '         "PATH": os.environ["PATH"]})\n'
            'state.first_node.mkdir()\n'
            'state.user.give(state.first_node)\n'
            'print(p.pid, state.sockets, state.nodes,\n'
            '      state.first_node.stat().st_uid, flush=True)\n'
            'os.kill(os.getpid(), 9)\n')
    killed = subprocess.run(
        [sys.executable, '-c', code, tmp_path], text=True, check=False,
        stdout=subprocess.PIPE)
    pid, sockets, nodes, number = killed.stdout.split()
    orphan = psutil.Process(int(pid))
    first_node = f'{nodes}/first'
    state = claim(tmp_path)

    def isFree():
        """Until its files were removed, the user was theirs."""
        with nodeusers.claim(first_node) as user:
            return user.uid in (None, int(number))
    waitFor(lambda: state.user.uid == int(number) or isFree())
    assert hasEnded(orphan)
    assert not pathlib.Path(sockets).exists()
    assert os.listdir(nodes) == [] if os.geteuid() else (
        not os.path.exists(nodes))


@pytest.mark.skipif(os.geteuid() != 0, reason='root alone has other users')
def test_each_run_of_root_has_a_user_of_its_own(tmp_path, claim):
    states = [claim(tmp_path / name) for name in ('one', 'two')]
    users = {state.user.uid for state in states}
    assert len(users) == 2
    assert users.isdisjoint(
        {entry.pw_uid for entry in pwd.getpwall()})
    for state in states:
        assert getClaims(state.first_node).keys() == {state.user.uid}
        state.release()
        waitFor(lambda state=state: not getClaims(state.first_node))


def test_no_user_can_be_claimed(tmp_path, claim, monkeypatch):
    (tmp_path / 'file').touch()
    monkeypatch.setattr(nodeusers, 'LOCKS', tmp_path / 'file')
    monkeypatch.setattr(os, 'geteuid', lambda: 0)
    with pytest.raises(UserError, match=r'Unable to claim a user.*ordinary'):
        claim(tmp_path / 'state')
    # Nothing is held.
    monkeypatch.undo()
    claim(tmp_path / 'state')


def test_default_directory(monkeypatch):
    monkeypatch.setenv('XDG_STATE_HOME', '/somewhere')
    assert str(defaultDirectory()) == '/somewhere/zuul-nodes/quickstart'
    monkeypatch.delenv('XDG_STATE_HOME')
    monkeypatch.setenv('HOME', '/home/someone')
    assert str(defaultDirectory()) == (
        '/home/someone/.local/state/zuul-nodes/quickstart')
