import os
import subprocess

import psutil
import pytest

from zuul_nodes import processes

VARIABLE = 'ZUUL_NODES_TEST'
LOOKS = 2000


@pytest.fixture
def start(monkeypatch):
    """:return: a function that starts a shell, as the only process there
        is."""
    started = []

    def start(environment, *command):
        process = subprocess.Popen(
            ['/bin/sh', '-c', *command],
            env={'PATH': os.environ['PATH'], **environment})
        started.append(process)
        found = psutil.Process(process.pid)
        monkeypatch.setattr(psutil, 'process_iter', lambda: [found])
        return found
    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_process_that_executes_programs_all_the_time_is_found(start):
    script = 'exec /bin/sh -c "$0" "$0"'
    process = start({VARIABLE: 'value'}, script, script)
    for _ in range(LOOKS):
        assert list(processes.find(VARIABLE)) == [('value', process)]


def test_a_process_without_environment_is_not_waited_for(start):
    process = start({}, 'exec env -i sleep 1000')
    while process.name() != 'sleep':
        assert list(processes.find(VARIABLE, 1e9)) == []
    assert list(processes.find(VARIABLE, 1e9)) == []


def test_a_process_that_has_ended_is_not_waited_for(start):
    process = start({VARIABLE: 'value'}, 'exit')
    while process.status() != psutil.STATUS_ZOMBIE:
        list(processes.find(VARIABLE, 1e9))
    assert list(processes.find(VARIABLE, 1e9)) == []
