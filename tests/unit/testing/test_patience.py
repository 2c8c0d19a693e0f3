"""The kit waits longer where a launcher waits for a processor."""

import os
import subprocess
import sys

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.testing import patience
from zuul_nodes.testing.patience import MOST, Patience, readDelays


class Machine:
    """Where a process has as much of a processor as it is given.

    :ivar float now: seconds, by the clock.
    :ivar dict delays: what Linux tells of each process.
    """

    def __init__(self):
        self.now = 1000
        self.delays = {1: {'1': 500}}

    def makePatience(self, pids=lambda: [1]):
        return Patience(30, pids, lambda: self.now)

    def advance(self, ready, delayed, pid=1, thread='1'):
        """:param ready, delayed: seconds in which a thread has what it
            wants, and has no processor."""
        self.now += ready + delayed
        delays = self.delays.setdefault(pid, {})
        delays[thread] = delays.get(thread, 0) + delayed


@pytest.fixture
def machine(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(
        patience, 'readDelays', lambda pid: dict(machine.delays.get(pid, {})))
    return machine


def test_an_idle_machine(machine):
    subject = machine.makePatience()
    machine.advance(29, 0)
    assert not subject.isOver()
    machine.advance(2, 0)
    assert subject.isOver()


def test_a_busy_machine(machine):
    """What a process has not had is added, whenever that is looked at."""
    subject = machine.makePatience()
    for _ in range(2):
        machine.advance(14, 50)
        assert not subject.isOver()
    machine.advance(3, 10)
    assert subject.isOver()


def test_another_process_takes_over(machine):
    pids = [1, 3]
    subject = machine.makePatience(lambda: pids)
    pids[0] = 2
    machine.advance(10, 50, pid=2, thread='2')
    machine.advance(0, 50, pid=3, thread='3')
    assert not subject.isOver()
    pids[0] = None
    machine.advance(25, 0)
    assert subject.isOver()


def test_there_is_an_end_to_it(machine):
    """Threads that wait for each other are delayed at the same time."""
    subject = machine.makePatience()
    for _ in range(30 * MOST):
        assert not subject.isOver()
        machine.advance(0, 1)
        machine.delays[1]['2'] = machine.delays[1]['1']
    machine.advance(0, 1)
    assert subject.isOver()


def test_what_linux_tells():
    """Of two processes that share a processor, one has to wait."""
    processor = min(os.sched_getaffinity(0))
    spin = (f'import os; os.sched_setaffinity(0, {{{processor}}})\n'
            'while True: pass')
    processes = [subprocess.Popen([sys.executable, '-c', spin])
                 for _ in range(2)]
    try:
        waitFor(lambda: sum(readDelays(processes[0].pid).values()) > 0.05)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert readDelays(None) == {}
