"""Components live from prime() to the beginning of stop()."""

import configparser

import pytest
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.plugin import components
from zuul_nodes.plugin.extensions import Extensions


class Scheduler:
    """As much of one as the seams touch."""

    def __init__(self):
        self.calls = calls = []
        self.during_join = lambda: None
        scheduler = self

        class Component:
            def __init__(self, config, connections):
                assert type(connections) is ConnectionRegistry
                self.config = config

            def start(self):
                calls.append('start')
                if self.config.has_option('launcher', 'fail'):
                    raise RuntimeError('no launcher today')

            def stop(self):
                calls.append('stop')
                if self.config.has_option('launcher', 'fail'):
                    raise RuntimeError('it had not started')

            def join(self):
                calls.append('join')
                scheduler.during_join()

        self.extensions = Extensions({}, {}, {'launcher': Component})

    def prime(self, conf):
        config = configparser.ConfigParser()
        config.read_string(conf)
        components.wrapPrime(
            lambda scheduler, config: self.calls.append('prime'),
            self.extensions)(self, config)

    def stop(self):
        components.wrapStop(
            lambda scheduler: self.calls.append('stop scheduler'),
            self.extensions)(self)


@pytest.fixture
def scheduler():
    return Scheduler()


def test_order(scheduler):
    scheduler.prime('')
    scheduler.stop()
    assert scheduler.calls == [
        'prime', 'start', 'stop', 'join', 'stop scheduler']


def test_a_second_signal_while_stopping(scheduler):
    scheduler.during_join = scheduler.stop
    scheduler.prime('')
    scheduler.stop()
    assert scheduler.calls == [
        'prime', 'start', 'stop', 'join', 'stop scheduler']


def test_not_embedded(scheduler):
    scheduler.prime('[launcher]\nembedded=false\n')
    scheduler.stop()
    assert scheduler.calls == ['prime', 'stop scheduler']


def test_never_primed(scheduler):
    # zuul-scheduler --validate-tenants
    scheduler.stop()
    assert scheduler.calls == ['stop scheduler']


def test_a_component_that_does_not_start(scheduler):
    # Zuul stops the scheduler then, and that must go through.
    with pytest.raises(RuntimeError, match='no launcher today'):
        scheduler.prime('[launcher]\nfail=1\n')
    scheduler.stop()
    assert scheduler.calls == ['prime', 'start', 'stop', 'stop scheduler']
