"""The quickstart as a person runs it, with everything it starts."""

import contextlib
import itertools
import json
import os
import signal
import subprocess

import psutil
import pytest

from tests.fixtures.processes import hasEnded
from zuul_nodes.quickstart import leftovers
from zuul_nodes.quickstart.process import waitFor
from zuul_nodes.quickstart.quickstart import Quickstart

pytestmark = pytest.mark.services

STEPS = [
    'Check this machine',
    'Make certificates and keys',
    'Install Ansible for the jobs',
    'Make git repositories and zuul.conf',
    'Start ZooKeeper',
    'Start the node',
    'Start Zuul',
    'Wait for the node',
    'Build the image, which is missing',
    'Make it known to the provider',
    'Validate it on a node of its own',
    'Push to the demo, and to the image',
    'Run the job on a node of the image',
    'Build the image a second time',
    'Build it a third time',
    'Validate both',
    'Delete the first build and its file',
    'Stop everything',
]


@pytest.fixture(scope='module')
def directory(tmp_path_factory):
    """One for all tests: each run is then the next one in it."""
    return tmp_path_factory.mktemp('quickstart') / 'state'


class Run:
    """One ``zuul-nodes quickstart``.

    :ivar list listening: all addresses that were seen to be listened on.
    """

    def __init__(self, directory, output, *arguments, **environ):
        self.directory = directory
        self.output = output
        self.listening = set()
        self._seen = set()
        with open(output, 'w') as stream:
            self.popen = subprocess.Popen(
                [Quickstart.program('zuul-nodes'),
                 'quickstart', '--directory', directory, *arguments],
                stdout=subprocess.PIPE, stderr=stream, text=True,
                env=os.environ | environ)
        self.process = psutil.Process(self.popen.pid)

    def look(self):
        """Note what is there now."""
        with contextlib.suppress(psutil.Error):
            for process in [self.process,
                            *self.process.children(recursive=True)]:
                self._seen.add(process)
                with contextlib.suppress(psutil.Error):
                    self.listening |= {
                        (connection.laddr.ip, process.name())
                        for connection in process.net_connections('inet')
                        if connection.status == psutil.CONN_LISTEN}

    def waitForProgress(self, text):
        """Wait until this was printed to the standard error."""
        def printed():
            self.look()
            assert self.popen.poll() is None, self.output.read_text()
            return text in self.output.read_text()
        waitFor(printed, text, 360)

    def finish(self, timeout):
        """:return: exit status and standard output."""
        def ended():
            self.look()
            return self.popen.poll() is not None
        waitFor(ended, 'the quickstart does not end', timeout,
                log_file=self.output)
        return self.popen.returncode, self.popen.stdout.read()

    def checkNothingLeft(self):
        assert [process for process in self._seen
                if not hasEnded(process)] == []
        mark = (self.directory / 'run' / 'mark').read_text()
        assert leftovers.find(mark) == []

    def end(self):
        self.popen.kill()
        self.popen.wait()
        with contextlib.suppress(FileNotFoundError):
            leftovers.end((self.directory / 'run' / 'mark').read_text())


@pytest.fixture
def run(directory, tmp_path):
    runs = []

    def start(*arguments, **environ):
        # With JSON, progress is on the standard error.
        run = Run(directory, tmp_path / f'progress{len(runs)}',
                  '--format', 'json', *arguments, **environ)
        runs.append(run)
        return run
    yield start
    for started in runs:
        started.end()


def test_from_nothing_to_success(run):
    first = run()
    status, output = first.finish(360)
    assert status == 0, first.output.read_text()
    result = json.loads(output)
    assert result['result'] == 'SUCCESS'
    assert [step['name'] for step in result['steps']] == STEPS
    assert {step['result'] for step in result['steps']} == {'ok'}
    assert {'Web UI', 'API', 'Build', 'Log'} == set(result['urls'])
    listeners = {name for _, name in first.listening}
    assert {'java', 'sshd', 'zuul-web'} <= listeners
    assert {address for address, _ in first.listening} <= {
        '127.0.0.1', '::ffff:127.0.0.1'}
    first.checkNothingLeft()


def test_again_as_text(run, directory):
    def kept():
        return [(path, path.stat().st_ino)
                for name in ('ansible', 'certificates', 'keys')
                for path in (directory / name).iterdir()]
    before = kept()
    completed = subprocess.run(
        [Quickstart.program('zuul-nodes'), 'quickstart',
         '--directory', directory], capture_output=True, text=True,
        check=True, timeout=300)
    assert kept() == before
    assert completed.stderr == ''
    for step in STEPS:
        assert f'| {step} ' in completed.stdout
    assert '| SUCCESS |' in completed.stdout
    assert 'Hello from' in completed.stdout


def test_kept_until_ctrl_c(run):
    kept = run('--keep')
    kept.waitForProgress('Ctrl-C stops')
    kept.popen.send_signal(signal.SIGINT)
    status, output = kept.finish(10)
    assert status == 0
    assert json.loads(output)['result'] == 'SUCCESS'
    kept.checkNothingLeft()


def test_one_at_a_time(run):
    first = run()
    first.waitForProgress('Start Zuul')
    second = run()
    status, _ = second.finish(10)
    assert status == 1
    assert f'(process {first.popen.pid})' in second.output.read_text()
    first.popen.send_signal(signal.SIGTERM)
    first.finish(10)


@pytest.mark.parametrize('moment, number', [
    *itertools.product(
        ('Start ZooKeeper', 'Start Zuul', 'zuul-web answers'),
        (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    ('Validate it', signal.SIGTERM), ('hello is running', signal.SIGINT)])
def test_interrupted(run, moment, number):
    interrupted = run()
    interrupted.waitForProgress(moment)
    interrupted.popen.send_signal(number)
    status, _ = interrupted.finish(10)
    assert status == 128 + number
    assert 'Traceback' not in interrupted.output.read_text()
    interrupted.checkNothingLeft()


def test_nobody_reads_the_progress(directory):
    deaf = subprocess.Popen(
        [Quickstart.program('zuul-nodes'), 'quickstart',
         '--directory', directory], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    deaf.stdout.readline()
    deaf.stdout.close()
    process = psutil.Process(deaf.pid)
    waitFor(lambda: len(process.children()) > 3, 'no services', 60)
    deaf.send_signal(signal.SIGHUP)
    assert deaf.wait(15) == 128 + signal.SIGHUP
    assert not leftovers.find((directory / 'run' / 'mark').read_text())


def test_a_service_that_fails(run, tmp_path):
    java = tmp_path / 'java'
    java.write_text('#!/bin/sh\necho no coffee today\nexit 1\n')
    java.chmod(0o755)
    failed = run(PATH=f'{tmp_path}:{os.environ["PATH"]}')
    status, output = failed.finish(30)
    assert status == 1
    assert json.loads(output)['result'] == 'FAILURE'
    *_, what, where, last = failed.output.read_text().splitlines()
    assert what == ('zuul-nodes quickstart: "Start ZooKeeper" failed: '
                    'zookeeper ended with status 1')
    assert str(failed.directory / 'run/logs/zookeeper.log') in where
    assert last.strip() == 'no coffee today'
    failed.checkNothingLeft()


def test_a_service_that_dies_is_noticed(run):
    kept = run('--keep')
    kept.waitForProgress('Ctrl-C stops')
    web, = (child for child in kept.process.children()
            if child.name() == 'zuul-web')
    web.kill()
    status, _ = kept.finish(15)
    assert status == 1
    assert 'web was ended by SIGKILL' in kept.output.read_text()
    kept.checkNothingLeft()


def test_killed_and_run_again(run):
    killed = run()
    killed.waitForProgress('hello is running')
    killed.popen.kill()
    killed.finish(5)
    again = run()
    status, _ = again.finish(300)
    assert status == 0, again.output.read_text()
    again.checkNothingLeft()
    killed.checkNothingLeft()
