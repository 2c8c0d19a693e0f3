"""Seen from the machine, each node is a user of its own."""

import grp
import os
import pathlib
import pwd
import subprocess
import sys
from unittest import mock

import psutil
import pytest

from tests.fixtures.claims import getClaims, isLocked
from tests.fixtures.ending import endWith
from tests.fixtures.processes import askAll, withChildren
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.local.sites import Site, ssh
from zuul_nodes import nodeusers
from zuul_nodes.nodeusers import User

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason='root alone has other users')

NODES = ('0' * 32, '1' * 32)


@pytest.fixture
def site(makeSite):
    return makeSite()


def getDirectory(site, node):
    return pathlib.Path(site.directory, 'nodes', f'np{node}')


def getUser(site, node):
    return User.of(getDirectory(site, node))


def getOwners(path):
    """:return: the numbers of users and groups whose files are there."""
    return {number for each in (path, *path.rglob('*'))
            for stat in [each.lstat()]
            for number in (stat.st_uid, stat.st_gid)}


def getProcesses(site, node):
    """:return: those of a node that are not root's."""
    users = askAll(
        withChildren(site.getProcesses(f'np{node}')), psutil.Process.uids)
    return {process for process, uids in users.items() if uids.real}


def test_each_node_is_a_user_of_its_own(site):
    for node in NODES:
        site.create(site.makeNode(node))
    users = [getUser(site, node) for node in NODES]
    assert len({user.uid for user in users}) == 2
    accounts = {entry.pw_uid for entry in pwd.getpwall()} | {
        entry.gr_gid for entry in grp.getgrall()}
    for node, user in zip(NODES, users, strict=True):
        assert user.uid not in accounts
        assert getOwners(getDirectory(site, node)) - {0} == {user.uid}
        assert getOwners(getDirectory(site, node) / 'root') == {user.uid}
        numbers = askAll(
            getProcesses(site, node),
            lambda process: {*process.uids(), *process.gids()})
        assert set().union(*numbers.values()) == {user.uid}
        assert isLocked(user.uid)
    # They share an image, which is neither's.
    image, = site.images.entries.names()
    assert getOwners(site.images.entries.path(image)) == {0}


# What a job could try, were it to get out of its sandbox.
ATTACK = """
import contextlib, os, sys
directory, *pids = sys.argv[1:]
for pid in map(int, pids):
    with contextlib.suppress(PermissionError):
        os.kill(pid, 0)
        print('signals', pid)
    with contextlib.suppress(PermissionError):
        os.listdir(f'/proc/{pid}/root')
        print('enters', pid)
with contextlib.suppress(PermissionError):
    os.listdir(directory)
    print('lists', directory)
with contextlib.suppress(PermissionError):
    open(f'{directory}/config/host_key').close()
    print('reads', directory)
"""


def attack(user, directory, processes):
    return subprocess.run(
        user.wrap(['/usr/bin/python3', '-I', '-c', ATTACK, directory,
                   *(str(process.pid) for process in processes)]),
        check=True, capture_output=True, text=True, timeout=30).stdout


def test_a_nodes_user_cannot_reach_another_node(site):
    for node in NODES:
        site.create(site.makeNode(node))
    victim = getDirectory(site, NODES[1])
    processes = getProcesses(site, NODES[1])
    assert processes
    assert attack(getUser(site, NODES[0]), victim, processes) == ''
    # The owner of the other one can, so it is for the user.
    said = attack(getUser(site, NODES[1]), victim, processes)
    assert {line.split()[0] for line in said.splitlines()} >= {
        'signals', 'lists', 'reads'}


def test_a_killed_node_has_its_user_until_it_is_deleted(site, directory):
    node = site.makeNode(NODES[0])
    site.create(node)
    user = getUser(site, NODES[0])
    site.kill(f'np{NODES[0]}')
    waitFor(lambda: not isLocked(user.uid))
    # Its files are still there, so no other one gets it.
    path = getDirectory(site, NODES[0])
    assert getClaims(path) == {user.uid: str(path)}
    site.delete(node)
    waitFor(lambda: not getClaims(path))
    assert site.create(site.makeNode(NODES[0]))


def test_a_node_has_its_user_whatever_becomes_of_the_launcher(
        site, makeSite, key):
    instance = site.create(site.makeNode(NODES[0]))
    user = getUser(site, NODES[0])
    code = ('import sys\n'
            'from zuul_nodes import nodeusers\n'
            'with nodeusers.claim(sys.argv[1]) as user:\n'
            '    print(user.uid)\n')

    def claimElsewhere():
        return int(subprocess.run(
            [sys.executable, '-c', code, getDirectory(site, NODES[0])],
            check=True, capture_output=True, text=True, timeout=30,
            env={**os.environ, 'PYTHONPATH': os.getcwd()}).stdout)

    assert claimElsewhere() != user.uid
    site.end()
    assert claimElsewhere() != user.uid
    site = makeSite()
    assert ssh(key, instance, 'id -un').stdout == 'zuul\n'
    site.delete(site.makeNode(NODES[0]))
    waitFor(lambda: user.uid not in getClaims(site.directory))


class Killed(BaseException):
    """Nothing is written any more."""


def test_files_follow_the_user_that_a_node_has_now(site, key, monkeypatch):
    """Another one may have the number when the machine has booted."""
    machines = site.adapter.machines
    node = site.makeNode(NODES[0])
    with monkeypatch.context() as patch:
        patch.setattr(machines, '_boot', mock.Mock(side_effect=Killed))
        machine = site.provider.getCreateStateMachine(node, None, site.log)
        waitFor(lambda: site.advance(machine) or machines._boot.called)
        number = getUser(site, NODES[0]).uid
        # Each list of nodes begins to boot it once more, and what looks for
        # numbers that are free has each lock for a moment.
        lock = waitFor(lambda: nodeusers._lock(number))
    with nodeusers.OwnUser(number, lock) as other:
        instance = site.finish(machine)
        user = getUser(site, NODES[0])
        assert user.uid != other.uid
        assert getOwners(getDirectory(site, NODES[0]) / 'root') == {user.uid}
        assert ssh(key, instance, 'id -un; touch /etc/file').stdout == (
            'zuul\n')


def test_images_of_a_user_of_the_past(makeSite, options, archive, request):
    """The operator had named one, or an older release has used it."""
    image = {'image_path': str(archive)}
    old = endWith(request, Site({**options, 'user': 'nobody'}, **image))
    node = old.makeNode(NODES[0])
    old.create(node)
    snapshots = [old.snapshot(node)]
    site = makeSite()
    # Of a node that still runs.
    snapshots.append(site.snapshot(node))
    assert len(set(snapshots)) == 1
    site.create(site.makeNode(NODES[1]))
    assert getOwners(getDirectory(site, NODES[1]) / 'root') == {
        getUser(site, NODES[1]).uid}
    site.delete(node)
    assert not getDirectory(site, NODES[0]).exists()
