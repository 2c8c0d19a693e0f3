"""The quickstart as a person runs it, with everything it starts."""

import contextlib
import itertools
import json
import math
import os
import signal
import subprocess
import time

import psutil
import pytest
import requests

from tests.fixtures.processes import hasEnded
from zuul_nodes.quickstart import leftovers, ports
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
    'Build the missing image',
    'Upload it to the provider',
    'Validate it on a test node',
    'Validate it in the other tenant, in another format',
    'Push to the demo, and to the image',
    'Run the job on a node of the image',
    'Build the image a second time',
    'Build it a third time',
    'Validate both',
    'Delete the first build and its artifact',
    'Stop everything',
]


# Seconds between two looks at the processes, which take a while themselves.
LOOK_INTERVAL = 1


@pytest.fixture(scope='module')
def directory(tmp_path_factory):
    """One for all tests of a worker: each run is then the next one in it."""
    return tmp_path_factory.mktemp('quickstart') / 'state'


def getArguments(directory):
    # Another worker may find the default port free, too.
    return ('quickstart', '--directory', directory,
            '--web-port', str(ports.freePort()))


class Run:
    """One ``zuul-nodes quickstart``.

    :ivar set listening: all addresses that were seen to be listened on.
    :ivar set users: the numbers of all users whose sshd was seen.
    """

    def __init__(self, directory, output, *arguments, **environ):
        self.directory = directory
        self.output = output
        self.listening = set()
        self.users = set()
        self._seen = set()
        self._looked = -math.inf
        with open(output, 'w') as stream:
            self.popen = subprocess.Popen(
                [Quickstart.program('zuul-nodes'),
                 *getArguments(directory), *arguments],
                stdout=subprocess.PIPE, stderr=stream, text=True,
                env=os.environ | environ)
        self.process = psutil.Process(self.popen.pid)

    def look(self):
        """Note what is there now, if the last look was a while ago."""
        now = time.monotonic()
        if now < self._looked + LOOK_INTERVAL:
            return
        self._looked = now
        with contextlib.suppress(psutil.Error):
            for process in [self.process,
                            *self.process.children(recursive=True)]:
                self._seen.add(process)
                with contextlib.suppress(psutil.Error):
                    if process.name() == 'sshd':
                        self.users.add(process.uids().real)
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
        waitFor(printed, text, 800)

    def say(self, action):
        """:return: the output of an action on it, as JSON."""
        return subprocess.run(
            [Quickstart.program('zuul-nodes'), 'quickstart', action,
             '--directory', self.directory, '--format', 'json'],
            check=True, text=True, stdout=subprocess.PIPE,
            timeout=120).stdout

    def finish(self):
        """:return: exit status and standard output."""
        def ended():
            self.look()
            return self.popen.poll() is not None
        waitFor(ended, 'the quickstart does not end', 120,
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
    """:return: a function that starts a quickstart; with JSON, so that its
        progress is on the standard error."""
    runs = []

    def start(*arguments, **environ):
        run = Run(directory, tmp_path / f'progress{len(runs)}',
                  '--format', 'json', *arguments, **environ)
        runs.append(run)
        return run
    yield start
    for started in runs:
        started.end()


def getKept(directory):
    """:return: what a run leaves for the next one: paths and inodes."""
    return [(path, path.stat().st_ino)
            for name in ('ansible', 'certificates', 'keys')
            for path in (directory / name).iterdir()]


def checkKept(run):
    """Kill a service, and do what the quickstart proposes."""
    web, = (child for child in run.process.children()
            if child.name() == 'zuul-web')
    web.kill()
    run.waitForProgress('web was ended by SIGKILL; it is started again')

    def getComponents():
        status = json.loads(run.say('status'))
        assert status['process'] == run.popen.pid
        return {(component['kind'], component['state'])
                for component in status['components']}
    waitFor(lambda: getComponents() >= {
        (kind, 'running') for kind in
        ('executor', 'launcher', 'scheduler', 'web')}, 'web is back', 120)
    places = json.loads(run.say('status'))['places']
    assert 'page.js' in requests.get(places['nodes_page'], timeout=60).text

    lines = run.output.read_text().splitlines()
    lines = lines[lines.index('What to try next:') + 1:]
    commands = [line.strip() for line in lines[:lines.index('')]
                if line.startswith('    ')]
    assert [command.split('/')[-1].split()[0] for command in commands] == [
        'demo', 'zuul.conf', 'zuul.conf', 'client.conf', 'client.conf']
    outputs = [subprocess.run(command, shell=True, check=True, text=True,
                              capture_output=True, timeout=120).stdout
               for command in commands]
    assert 'debian-local' in outputs[1]
    assert 'debian' in outputs[2]
    assert 'hello' in outputs[3]
    holds = subprocess.run(
        commands[3].replace(' builds', ' autohold-list'), shell=True,
        check=True, text=True, capture_output=True, timeout=120)
    assert 'hello' in holds.stdout


@pytest.mark.seconds(350)
def test_killed_and_run_again_to_success_and_kept(run, directory):
    """What was installed and made is used again.  A service that dies is
    started again, and the commands that are shown work, until it is stopped.
    """
    killed = run()
    killed.waitForProgress('hello is running')
    killed.popen.kill()
    killed.finish()
    before = getKept(directory)
    again = run('--keep')
    again.waitForProgress('Press Ctrl-C to stop')
    checkKept(again)
    stopped = again.say('stop')
    assert json.loads(stopped) == {'done': 'The quickstart has stopped'}
    status, output = again.finish()
    assert status == 0, again.output.read_text()
    assert getKept(directory) == before
    result = json.loads(output)
    assert result['result'] == 'SUCCESS'
    assert result['zuul_conf'] == str(directory / 'run/zuul.conf')
    assert [step['name'] for step in result['steps']] == STEPS[:-1]
    assert {step['result'] for step in result['steps']} == {'ok'}
    assert {'Web UI', 'Nodes of the tenant', 'API', 'Build', 'Log'} == set(
        result['urls'])
    listeners = {name for _, name in again.listening}
    assert {'java', 'sshd', 'zuul-web'} <= listeners
    assert {address for address, _ in again.listening} <= {
        '127.0.0.1', '::ffff:127.0.0.1'}
    # Jobs are its children.
    assert again.users
    assert 0 not in again.users
    killed.checkNothingLeft()
    again.checkNothingLeft()


def test_one_at_a_time(run):
    first = run()
    first.waitForProgress('Start Zuul')
    second = run()
    status, _ = second.finish()
    assert status == 1
    assert f'(process {first.popen.pid})' in second.output.read_text()
    first.popen.send_signal(signal.SIGTERM)
    first.finish()


@pytest.mark.parametrize('moment, number', [
    *itertools.product(
        ('Start ZooKeeper', 'Start Zuul'),
        (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    ('zuul-web answers', signal.SIGHUP),
    pytest.param('Validate it', signal.SIGTERM,
                 marks=pytest.mark.seconds(90)),
    pytest.param('hello is running', signal.SIGINT,
                 marks=pytest.mark.seconds(150))])
def test_interrupted(run, moment, number):
    interrupted = run()
    interrupted.waitForProgress(moment)
    interrupted.popen.send_signal(number)
    status, _ = interrupted.finish()
    assert status == 128 + number
    assert 'Traceback' not in interrupted.output.read_text()
    interrupted.checkNothingLeft()


def test_nobody_reads_the_progress(directory):
    deaf = subprocess.Popen(
        [Quickstart.program('zuul-nodes'), *getArguments(directory)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        deaf.stdout.readline()
        deaf.stdout.close()
        process = psutil.Process(deaf.pid)
        waitFor(lambda: len(process.children()) > 3, 'no services', 300)
        deaf.send_signal(signal.SIGHUP)
        assert deaf.wait(120) == 128 + signal.SIGHUP
    finally:
        deaf.kill()
    assert not leftovers.find((directory / 'run' / 'mark').read_text())


@pytest.mark.parametrize('form', ['text', 'json'])
def test_a_service_that_fails(run, tmp_path, form):
    java = tmp_path / 'java'
    java.write_text('#!/bin/sh\necho no coffee today\nexit 1\n')
    java.chmod(0o755)
    failed = run('--format', form, PATH=f'{tmp_path}:{os.environ["PATH"]}')
    status, output = failed.finish()
    assert status == 1
    if form == 'json':
        assert json.loads(output)['result'] == 'FAILURE'
    else:
        rows = [[cell.strip() for cell in line.split('|')[1:3]]
                for line in output.splitlines() if line.startswith('|')]
        done = STEPS.index('Start ZooKeeper')
        assert rows == [
            ['Step', 'Result'], *([step, 'ok'] for step in STEPS[:done]),
            [STEPS[done], 'failed'], ['Stop everything', 'ok'],
            ['Total', 'FAILURE']]
    *_, what, where, last = failed.output.read_text().splitlines()
    assert what == ('zuul-nodes quickstart: "Start ZooKeeper" failed: '
                    'zookeeper ended with status 1')
    assert str(failed.directory / 'run/logs/zookeeper.log') in where
    assert last.strip() == 'no coffee today'
    failed.checkNothingLeft()


@pytest.mark.seconds(90)
def test_a_service_that_dies_is_noticed(run):
    started = run()
    started.waitForProgress('zuul-web answers')
    web, = (child for child in started.process.children()
            if child.name() == 'zuul-web')
    web.kill()
    status, _ = started.finish()
    assert status == 1
    assert 'web was ended by SIGKILL' in started.output.read_text()
    started.checkNothingLeft()
