"""A lock that tells for how long it has been held."""

import threading

from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.workers import TimedLock


def test_it_counts_from_the_last_time_it_was_taken():
    now = 10.0
    lock = TimedLock(lambda: now)
    assert lock.getSeconds() == 0
    with lock:
        now += 3
        assert lock.getSeconds() == 3
    assert lock.getSeconds() == 0
    with lock:
        assert lock.getSeconds() == 0


def test_one_thread_has_it_at_a_time():
    lock = TimedLock()
    taken, gate = [], threading.Event()

    def take():
        with lock:
            taken.append(1)
            assert gate.wait(10)
    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    waitFor(lambda: taken)
    assert taken == [1]
    gate.set()
    for thread in threads:
        thread.join()
    assert taken == [1] * 3
