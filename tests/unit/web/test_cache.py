"""When a value is made, and who waits for it."""

import itertools
import threading

import pytest

from zuul_nodes.web.cache import Cache


def makeCache(lifetime, *makers):
    """:return: a Cache that calls the next one each time."""
    left = iter(makers)

    def make():
        return next(left)()
    return Cache(make, lifetime)


def test_value_is_made_again_after_its_time_only():
    now = [100]
    numbers = itertools.count()
    cache = Cache(lambda: next(numbers), 5, lambda: now[0])
    assert [cache.get(), cache.get()] == [0, 0]
    now[0] = 104.9
    assert cache.get() == 0
    now[0] = 105
    assert [cache.get(), cache.get()] == [1, 1]


def test_failure_is_told_and_the_next_call_tries_again():
    cache = makeCache(5, lambda: 1 / 0, lambda: 'value')
    with pytest.raises(ZeroDivisionError):
        cache.get()
    assert cache.get() == 'value'


def test_others_get_the_former_value_while_one_is_made():
    begun, proceed = threading.Event(), threading.Event()
    cache = makeCache(0, lambda: 'old', lambda: begun.set() or (
        proceed.wait(30) and 'new'))
    assert cache.get() == 'old'
    found = []
    thread = threading.Thread(target=lambda: found.append(cache.get()))
    thread.start()
    assert begun.wait(30)
    assert cache.get() == 'old'
    proceed.set()
    thread.join()
    assert found == ['new']


def test_all_wait_for_the_first_value_which_is_made_once():
    begun, proceed = threading.Event(), threading.Event()
    made, found = [], []

    def make():
        made.append(1)
        begun.set()
        assert proceed.wait(30)
        return 'value'
    cache = Cache(make, 60)
    threads = [threading.Thread(target=lambda: found.append(cache.get()))
               for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    assert found == []
    proceed.set()
    for thread in threads:
        thread.join()
    assert (made, found) == ([1], ['value'] * 3)
