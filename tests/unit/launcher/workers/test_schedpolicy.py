import os
import threading

import pytest

from zuul_nodes.launcher.workers.schedpolicy import takenInTurn


@pytest.fixture
def start():
    """Start a thread that ends with the test."""
    threads = []
    end = threading.Event()

    def start():
        thread = threading.Thread(target=end.wait)
        thread.start()
        threads.append(thread)
        return thread
    yield start
    end.set()
    for thread in threads:
        thread.join()


def getPolicy(thread):
    return os.sched_getscheduler(thread.native_id)


def test_threads_that_are_started_meanwhile(start):
    before = start()
    with takenInTurn():
        meanwhile = start()
    after = start()
    assert [getPolicy(thread) for thread in (before, meanwhile, after)] == [
        os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_OTHER]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_nothing_is_left_of_it_after_an_error():
    with pytest.raises(ValueError), takenInTurn():
        raise ValueError()
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


@pytest.mark.parametrize('policy', [os.SCHED_IDLE, os.SCHED_BATCH])
def test_what_the_operator_has_chosen(start, policy):
    """For all of a process, as with chrt(1)."""
    policies = []

    def run():
        os.sched_setscheduler(0, policy, os.sched_param(0))
        with takenInTurn():
            policies.append(getPolicy(start()))
        policies.append(os.sched_getscheduler(0))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert policies == [policy, policy]


@pytest.mark.parametrize('name', [
    'sched_getscheduler', 'sched_setscheduler'])
def test_it_is_not_allowed(start, name):
    def refuse(*args):
        raise PermissionError()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, refuse)
        with takenInTurn():
            thread = start()
    assert getPolicy(thread) == os.SCHED_OTHER
