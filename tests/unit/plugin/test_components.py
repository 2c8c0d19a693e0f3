"""Components live from prime() to the beginning of stop()."""

import configparser
import os
import signal
import threading

import pytest
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import components
from zuul_nodes.plugin.extensions import Extensions


class Scheduler:
    """As much of one as the seams touch."""

    _zuul_app = None

    def __init__(self):
        self.calls = []
        self.ended = threading.Event()
        self.hooks = {}
        self.extensions = Extensions({}, {}, {'launcher': self.make})

    def make(self, config, connections):
        assert type(connections) is ConnectionRegistry
        self.call('make')
        return self

    def call(self, name):
        self.calls.append(name)
        self.hooks.get(name, lambda: None)()

    # The component

    def start(self):
        self.call('start')

    def stop(self):
        self.call('stop')

    def join(self):
        self.call('join')

    # The scheduler

    def prime(self, conf=''):
        config = configparser.ConfigParser()
        config.read_string(conf)
        components.wrapPrime(
            lambda scheduler, config: scheduler.call('prime'),
            self.extensions)(self, config)

    def stopScheduler(self):
        def stop(scheduler):
            scheduler.call('stop scheduler')
            scheduler.ended.set()
        components.wrapStop(stop, self.extensions)(self)

    def exitHandler(self, signum, frame):
        """As zuul.cmd.scheduler has it."""
        self.stopScheduler()
        assert self.ended.wait(10)


@pytest.fixture
def scheduler():
    handlers = {number: signal.getsignal(number)
                for number in (signal.SIGTERM, signal.SIGINT)}
    yield Scheduler()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_order(scheduler):
    scheduler.prime()
    scheduler.stopScheduler()
    assert scheduler.calls == [
        'prime', 'make', 'start', 'stop', 'join', 'stop scheduler']


def test_signals_while_stopping(scheduler):
    signal.signal(signal.SIGTERM, scheduler.exitHandler)
    scheduler.hooks['join'] = lambda: [
        os.kill(os.getpid(), number)
        for number in (signal.SIGTERM, signal.SIGINT)]
    scheduler.prime()
    os.kill(os.getpid(), signal.SIGTERM)
    assert scheduler.calls == [
        'prime', 'make', 'start', 'stop', 'join', 'stop scheduler']


def test_sigterm_while_a_component_starts(scheduler):
    """The start comes to its end, and the stop finds all of it."""
    signal.signal(signal.SIGTERM, scheduler.exitHandler)
    scheduler.hooks['make'] = lambda: os.kill(os.getpid(), signal.SIGTERM)
    scheduler.prime()
    assert scheduler.calls == [
        'prime', 'make', 'start', 'stop', 'join', 'stop scheduler']


def test_ctrl_c_while_a_component_starts(scheduler):
    # What a shell runs in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scheduler.hooks['make'] = lambda: os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        scheduler.prime()
    assert scheduler.calls == ['prime', 'make', 'start', 'stop', 'join']


def test_stop_while_a_component_starts(scheduler):
    # By the command socket, which has a thread of its own.
    stopper = threading.Thread(target=scheduler.stopScheduler)
    stop_called = threading.Event()
    lock = components.getComponents(scheduler).lock

    def stopNow():
        assert lock.locked()
        stopper.start()
        stop_called.set()
    scheduler.hooks['make'] = stopNow
    scheduler.prime()
    assert stop_called.is_set()
    stopper.join(10)
    assert scheduler.calls == [
        'prime', 'make', 'start', 'stop', 'join', 'stop scheduler']


def test_stop_before_components_start(scheduler):
    scheduler.hooks['prime'] = scheduler.stopScheduler
    scheduler.prime()
    assert scheduler.calls == ['prime', 'stop scheduler']


def test_not_embedded(scheduler):
    scheduler.prime('[launcher]\nembedded=false\n')
    scheduler.stopScheduler()
    assert scheduler.calls == ['prime', 'stop scheduler']


def test_neither_true_nor_false(scheduler):
    with pytest.raises(UserError, match=r'"embedded" in \[launcher\]'):
        scheduler.prime('[launcher]\nembedded=maybe\n')
    assert scheduler.calls == []


def test_never_primed(scheduler):
    # zuul-scheduler --validate-tenants
    scheduler.stopScheduler()
    assert scheduler.calls == ['stop scheduler']


def test_a_component_that_does_not_start(scheduler):
    # Zuul stops the scheduler then, and that must go through.
    def fail():
        raise RuntimeError('no launcher today')
    scheduler.hooks = {'start': fail, 'stop': fail}
    with pytest.raises(RuntimeError, match='no launcher today'):
        scheduler.prime()
    scheduler.stopScheduler()
    assert scheduler.calls == [
        'prime', 'make', 'start', 'stop', 'stop scheduler']
