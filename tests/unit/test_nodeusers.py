"""Users of the machine that nothing else has."""

import contextlib
import os
import pwd
import signal
import subprocess
import sys

import pytest

from tests.fixtures.claims import getClaims, isLocked
from tests.fixtures.waiting import waitFor
from zuul_nodes import nodeusers
from zuul_nodes.nodeusers import ClaimError, User, claim

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason='root alone has other users')

# Neither systemd nor other tests have any number from here on.
FREE = 70000
CLAIM = """
import sys
from zuul_nodes import nodeusers
user = nodeusers.claim(sys.argv[1])
print(user.uid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def setNumbers(monkeypatch, tmp_path):
    """:return: a function that says which numbers there are; nobody else
        claims any."""
    def setNumbers(*args):
        monkeypatch.setattr(nodeusers, 'NUMBERS', range(*args))
    monkeypatch.setattr(nodeusers, 'LOCKS', tmp_path / 'locks')
    return setNumbers


@pytest.fixture
def claimElsewhere():
    """:return: a function that has a process of its own claim a user for a
        path, and gives the process and the number."""
    with contextlib.ExitStack() as stack:
        def claimElsewhere(path):
            process = stack.enter_context(subprocess.Popen(
                [sys.executable, '-c', CLAIM, path], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            return process, int(process.stdout.readline())
        yield claimElsewhere


def test_it_is_of_systemds_range_and_by_its_lock(tmp_path):
    with claim(tmp_path) as user:
        assert 61184 <= user.uid == user.gid <= 65519
        assert os.path.exists(f'/run/systemd/dynamic-uid/{user.uid}')
        assert isLocked(user.uid)
        assert getClaims(tmp_path).keys() == {user.uid}
    waitFor(lambda: not getClaims(tmp_path))


def test_two_processes_never_have_the_same(tmp_path, claimElsewhere):
    """Though both look for that of the same path first."""
    process, number = claimElsewhere(tmp_path)
    with claim(tmp_path) as user:
        assert user.uid != number
    process.send_signal(signal.SIGKILL)
    process.wait()

    def claimAgain():
        with claim(tmp_path) as user:
            return user.uid == number
    waitFor(claimAgain)


def test_an_account_keeps_its_number(setNumbers):
    nobody = pwd.getpwnam('nobody').pw_uid
    setNumbers(nobody, nobody + 1)
    with pytest.raises(ClaimError, match='in use'):
        claim()
    assert os.listdir(nodeusers.LOCKS) == []


def test_a_process_keeps_its_number(setNumbers):
    setNumbers(FREE, FREE + 10)
    with claim() as user:
        number = user.uid
        process = subprocess.Popen(
            user.wrap(['sh', '-c', 'echo; exec sleep 1000']),
            stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b'\n'
        setNumbers(number, number + 1)
        with pytest.raises(ClaimError):
            claim()
        process.kill()
    with claim() as user:
        assert user.uid == number


def test_a_directory_keeps_its_number(setNumbers, tmp_path, monkeypatch):
    """What was killed has not released it."""
    setNumbers(FREE, FREE + 1)
    directory = tmp_path / 'node'
    directory.mkdir()
    with claim(directory) as user:
        user.give(directory)
    with pytest.raises(ClaimError):
        claim(tmp_path / 'other')
    # It is the same again for what has it.
    claim(directory).release()
    directory.rmdir()
    with claim(tmp_path / 'other') as user:
        assert user.uid == FREE
    assert os.listdir(nodeusers.LOCKS) == []


def test_what_systemd_has_left_is_free(setNumbers, tmp_path):
    setNumbers(FREE, FREE + 1)
    nodeusers.LOCKS.mkdir()
    (nodeusers.LOCKS / str(FREE)).write_text('some-service-with-a-name\n')
    with claim(tmp_path):
        assert (nodeusers.LOCKS / str(FREE)).read_text() == f'{tmp_path}\n'


def test_files_of_all_that_is_free_are_removed(setNumbers, tmp_path):
    setNumbers(FREE, FREE + 10)
    directories = [tmp_path / name for name in ('removed', 'there')]
    for directory in directories:
        directory.mkdir()
        with claim(directory) as user:
            user.give(directory)
    directories[0].rmdir()
    with claim() as held:
        nodeusers.forgetFree()
        assert set(os.listdir(nodeusers.LOCKS)) == {
            str(held.uid), str(user.uid)}


def test_a_claim_lasts_as_long_as_a_command_that_holds_it(tmp_path):
    with claim(tmp_path) as user:
        process = subprocess.Popen(
            user.hold(['sh', '-c', 'echo $$; id -u; exec sleep 1000']),
            stdin=user.lock, stdout=subprocess.PIPE, text=True)
    with process:
        number, said = (int(process.stdout.readline()) for _ in range(2))
        assert said == user.uid
        assert isLocked(user.uid)
        # The command itself does not have the lock.
        descriptors = f'/proc/{number}/fd'
        assert str(nodeusers.LOCKS / str(user.uid)) not in {
            os.readlink(f'{descriptors}/{each}')
            for each in os.listdir(descriptors)}
        os.kill(number, signal.SIGKILL)
        process.wait()
        waitFor(lambda: not isLocked(user.uid))

    def isForgotten():
        nodeusers.forget(user.uid)
        return not getClaims(tmp_path)
    waitFor(isForgotten)


def test_the_command_ends_with_what_holds_it(tmp_path):
    with claim(tmp_path) as user, subprocess.Popen(
            user.hold(['sh', '-c', 'echo $$; exec sleep 1000']),
            stdin=user.lock, stdout=subprocess.PIPE, text=True) as process:
        number = int(process.stdout.readline())
        process.kill()
        process.wait()
        # Until the first process of the machine has noticed.
        waitFor(lambda: not os.path.exists(f'/proc/{number}/exe'))


def test_without_root_nothing_is_claimed(setNumbers, tmp_path, monkeypatch):
    setNumbers(0)
    monkeypatch.setattr(os, 'geteuid', lambda: 1000)
    with claim(tmp_path) as user:
        assert (user.uid, user.wrap(['true']), user.hold(['true'])) == (
            None, ['true'], ['true'])
    nodeusers.forget(1000)
    assert not nodeusers.LOCKS.exists()


def test_a_directory_that_root_cannot_write_to(setNumbers, tmp_path):
    setNumbers(FREE, FREE + 1)
    nodeusers.LOCKS.write_text('')
    with pytest.raises(ClaimError, match='Unable to claim a user'):
        claim(tmp_path)


def test_files_are_given_to_their_user_alone(tmp_path):
    (tmp_path / 'file').touch()
    with claim() as user:
        for path, mode in ((tmp_path / 'file', 0o600), (tmp_path, 0o700)):
            user.give(path)
            assert (User.of(path).uid, path.stat().st_mode & 0o777) == (
                user.uid, mode)
