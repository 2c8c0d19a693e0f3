"""Limits of nodes: the files of control groups, and what the kernel makes
of them where it has such groups."""

import errno
import os
import pathlib
import shutil

import pytest

from tests.unit.drivers.local.sites import ssh
from zuul_nodes.drivers import DriverError

NODE = '0123456789abcdef0123456789abcdef'
NAME = f'np{NODE}'
KERNEL = pathlib.Path('/sys/fs/cgroup')


@pytest.fixture
def files(directory):
    """:return: a directory that looks like a group, for it has the files
        that are read."""
    path = directory / 'cgroup'
    path.mkdir()
    (path / 'cgroup.controllers').write_text('cpuset cpu memory pids\n')
    return path


@pytest.fixture
def group():
    """:return: a group of the kernel's."""
    file = KERNEL / 'cgroup.subtree_control'
    there = file.read_text().split() if file.exists() else []
    if not {'cpu', 'memory', 'pids'} <= set(there) or (
            not os.access(KERNEL, os.W_OK)):
        pytest.skip('needs the permission to make groups of version 2 with '
                    f'the controllers cpu, memory and pids in {KERNEL}')
    path = KERNEL / f'zuul-nodes-test-{os.getpid()}'
    path.mkdir()
    yield path
    path.rmdir()


def makeLimited(makeSite, options, path, **limits):
    options['cgroup'] = str(path)
    site = makeSite()
    vars(site.provider.flavors['any']).update(limits)
    return site


def test_files(makeSite, options, files, key, monkeypatch):
    site = makeLimited(makeSite, options, files, cores=2, ram=256)
    group = files / NAME
    group.mkdir()
    (group / 'memory.swap.max').touch()
    node = site.makeNode(NODE)
    instance = site.create(node)
    assert (files / 'cgroup.subtree_control').read_text() == (
        '+cpu +memory +pids')
    assert {path.name: path.read_text() for path in group.iterdir()
            if path.name != 'cgroup.procs'} == {
        'cpu.max': '200000 100000', 'memory.max': str(256 * 1024 ** 2),
        'memory.swap.max': '0', 'pids.max': '4096'}
    # The last one that was written there.
    assert int((group / 'cgroup.procs').read_text()) in {
        process.pid for process in site.getProcesses(NAME)}
    assert ssh(key, instance, 'id -un').stdout == 'zuul\n'
    assert node.quota.getResources() == {
        'instances': 1, 'cores': 2, 'ram': 256}
    # Those of the kernel go with their files.
    monkeypatch.setattr(pathlib.Path, 'rmdir', shutil.rmtree)
    site.delete(node)
    assert not group.exists()


def test_processes_that_are_about_to_end(makeSite, options, files,
                                         monkeypatch):
    """What they were can't be read any more, but they are in the group."""
    site = makeLimited(makeSite, options, files, cores=1)
    node = site.makeNode(NODE)
    site.create(node)
    errors = [OSError(errno.EBUSY, 'busy')] * 2

    def rmdir(path):
        if errors:
            raise errors.pop()
        shutil.rmtree(path)

    monkeypatch.setattr(pathlib.Path, 'rmdir', rmdir)
    site.delete(node)
    assert not (files / NAME).exists()


def test_another_launcher_limits_it(makeSite, options, files):
    site = makeLimited(makeSite, options, files, cores=1)
    machines = site.adapter.machines
    machines.cgroups = None
    site.create(site.makeNode(NODE))
    # As if the first one was killed before that.
    data = machines.getNode(NAME)
    del data['ready']
    machines.entries.write(NAME, data)
    other = makeLimited(makeSite, options, files, cores=1)
    other.create(site.makeNode(NODE))
    assert (files / NAME / 'cgroup.procs').exists()


@pytest.mark.parametrize(('controllers', 'message'), [
    ('cpu', 'no controller "memory"'),
    ('cpu memory', 'no controller "pids"'),
    (None, 'Unable to set the limits')])
def test_group_that_can_not_be(makeSite, options, files, controllers,
                               message):
    if controllers:
        (files / 'cgroup.controllers').write_text(controllers)
    else:
        (files / 'cgroup.controllers').unlink()
    site = makeLimited(makeSite, options, files, ram=64)
    with pytest.raises(DriverError, match=message):
        site.create(site.makeNode(NODE))
    assert not site.getProcesses(NAME)


def test_no_group(makeSite):
    """Flavors count, and that is all."""
    site = makeSite()
    site.provider.flavors['any'].cores = 3
    node = site.makeNode(NODE)
    site.create(node)
    assert node.quota.getResources() == {'instances': 1, 'cores': 3}


def test_kernel(makeSite, options, group, key):
    site = makeLimited(makeSite, options, group, cores=1, ram=64)
    node = site.makeNode(NODE)
    instance = site.create(node)
    processes = (group / NAME / 'cgroup.procs').read_text().split()
    assert {process.pid for process in site.getProcesses(NAME)} <= {
        int(number) for number in processes}
    assert (group / NAME / 'cpu.max').read_text() == '100000 100000\n'
    forks = 'for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; echo all'
    (group / NAME / 'pids.max').write_text(
        (group / NAME / 'pids.current').read_text())
    assert 'all' not in ssh(key, instance, forks).stdout
    (group / NAME / 'pids.max').write_text('max')
    hungry = 'a=$(head -c 100000000 /dev/zero | tr "\\0" x); echo ${#a}'
    assert '100000000' not in ssh(key, instance, hungry).stdout
    events = dict(line.split() for line in (
        group / NAME / 'memory.events').read_text().splitlines())
    assert int(events['oom_kill'])
    site.delete(node)
    assert not (group / NAME).exists()
