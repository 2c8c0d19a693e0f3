import os
import subprocess
import sys

import psutil
import pytest

from tests.fixtures.processes import hasEnded
from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.process import Process, waitFor


@pytest.fixture
def makeProcess(tmp_path):
    made = []

    def make(*command):
        process = Process('thing', command, tmp_path / 'thing.log',
                          dict(os.environ))
        made.append(process)
        return process
    yield make
    for process in made:
        process.stop(0)


@pytest.fixture
def shell(makeProcess):
    """A started shell script that has printed "ready"."""
    def start(script):
        process = makeProcess('/bin/sh', '-c', script)
        process.start()
        process.waitFor(lambda: process.logged('ready'), 'not ready', 10)
        return process
    return start


def number(process, name):
    """:return: the process whose number was logged after a name."""
    line = next(line for line in process.tail() if line.startswith(name))
    return psutil.Process(int(line.split()[1]))


def test_stop_asks_first(shell):
    process = shell('trap "echo asked; exit" TERM; echo ready; '
                    'while :; do sleep 0.1; done')
    assert process.stop()
    assert not process.alive
    assert process.tail()[-1] == 'asked'


def test_stop_kills_who_does_not_listen(shell):
    process = shell('trap "" TERM; echo ready; while :; do sleep 0.1; done')
    assert not process.stop(0.3)
    assert not process.alive


def test_stop_ends_grandchildren_in_sessions_of_their_own(shell):
    process = shell('setsid sleep 1000 & echo child $!; echo ready; wait')
    grandchild = number(process, 'child')
    process.stop()
    assert hasEnded(grandchild)


def test_stop_twice_and_before_start(shell, makeProcess):
    process = shell('echo ready; sleep 1000')
    process.stop()
    assert process.stop()
    assert makeProcess('true').stop()


def test_kill_and_start_again(shell):
    process = shell('echo ready; sleep 1000 & echo child $!; wait')
    process.waitFor(lambda: process.logged('child'), 'no child', 10)
    grandchild = number(process, 'child')
    process.kill()
    assert not process.alive
    psutil.wait_procs([grandchild], 5)
    assert hasEnded(grandchild)
    process.start()
    assert process.alive


def test_waiting_ends_when_the_process_does(makeProcess):
    process = makeProcess('/bin/sh', '-c', 'echo one; echo two; exit 7')
    process.start()
    with pytest.raises(Failure) as caught:
        process.waitFor(lambda: False, 'never', 30)
    assert caught.value.reason == 'thing ended with status 7'
    assert caught.value.log_file == process.log_file
    assert caught.value.last_lines == ['one', 'two']


def test_a_signal_is_named(makeProcess):
    process = makeProcess('/bin/sh', '-c', 'kill -SEGV $$')
    process.start()
    with pytest.raises(Failure, match='thing was ended by SIGSEGV'):
        process.waitFor(lambda: False, 'never', 30)


def test_waiting_has_a_limit(shell):
    process = shell('echo ready; sleep 1000')
    with pytest.raises(Failure) as caught:
        process.waitFor(lambda: False, 'no answer', 0.2)
    assert caught.value.reason == 'timed out after 0.2 s: thing: no answer'
    assert caught.value.last_lines == ['ready']


def test_waiting_returns_what_was_found():
    assert waitFor(lambda: 'found', 'never', 1) == 'found'


def test_finish(makeProcess):
    process = makeProcess('true')
    process.start()
    process.finish(10)
    process = makeProcess('false')
    process.start()
    with pytest.raises(Failure, match='thing ended with status 1'):
        process.finish(10)


def test_dies_with_a_parent_that_was_killed(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, '-c',
         'import os, sys, time\n'
         'from zuul_nodes.quickstart.process import Process\n'
         'p = Process("x", ["sleep", "1000"], sys.argv[1], os.environ)\n'
         'p.start()\n'
         'print(p.pid, flush=True)\n'
         'time.sleep(1000)', tmp_path / 'x.log'],
        stdout=subprocess.PIPE, text=True)
    with parent:
        try:
            child = psutil.Process(int(parent.stdout.readline()))
            # Not before it is what it shall become: only then is it bound.
            waitFor(lambda: child.name() == 'sleep', 'it does not start', 60)
        finally:
            parent.kill()
    psutil.wait_procs([child], 5)
    assert hasEnded(child)
