"""Who gets a place next, of tenants that share them."""

import collections
import itertools
import threading

import pytest

from tests.fixtures.waiting import TIMEOUT, waitFor
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers.fairness import FairPlaces
from zuul_nodes.launcher.workers.threads import Stopped


class Works:
    """
    :ivar list begun: the names of what has begun, in that order.
    """

    def __init__(self):
        self.places = FairPlaces(None, 'places', 2, Settings())
        self.begun = []
        self.ends = collections.defaultdict(threading.Event)

    def add(self, *names):
        """:param names: of work; the first letter is its tenant."""
        for name in names:
            self.places.submit(name[0], name, lambda name=name: self.do(name))

    def do(self, name):
        self.begun.append(name)
        assert self.ends[name].wait(TIMEOUT)

    def end(self, *names):
        for name in names:
            self.ends[name].set()
        waitFor(lambda: sum(
            not self.ends[name].is_set() for name in self.begun)
            == self.places.working.total())

    def waitFor(self, *names):
        """Wait until these have begun, in whatever order."""
        waitFor(lambda: sorted(self.begun) == sorted(names),
                lambda: self.begun)


@pytest.fixture
def works(request):
    works = Works()

    def end():
        works.places.stop()
        for name in works.begun:
            works.ends[name].set()
        waitFor(lambda: [works.ends[name].set() for name in works.begun]
                and not works.places.working.total())
    request.addfinalizer(end)
    return works


def test_there_are_so_many_places(works):
    works.add('a1', 'a2', 'a3')
    works.waitFor('a1', 'a2')
    works.end('a1')
    works.waitFor('a1', 'a2', 'a3')


def test_a_tenant_does_not_wait_for_all_of_another(works):
    works.add('a1', 'a2', 'a3', 'a4', 'b1', 'b2')
    works.waitFor('a1', 'a2')
    works.end('a1')
    works.waitFor('a1', 'a2', 'b1')
    # Each has one.
    works.end('b1')
    works.waitFor('a1', 'a2', 'b1', 'b2')
    works.end('a2')
    works.waitFor('a1', 'a2', 'b1', 'b2', 'a3')


def test_tenants_take_turns(works):
    works.add('a1', 'b1')
    works.waitFor('a1', 'b1')
    works.add('a2', 'c1', 'd1', 'a3', 'c2')
    for ended, begun in (('a1', 'a2'), ('b1', 'c1'), ('c1', 'd1'),
                         ('d1', 'c2'), ('c2', 'a3')):
        assert begun not in works.begun
        works.end(ended)
        waitFor(lambda begun=begun: begun in works.begun)


def test_a_tenant_with_all_places_does_not_keep_them(works):
    works.places.shared_time = 0.01
    works.add('a1', 'a2', 'a3')
    works.waitFor('a1', 'a2')
    works.add('b1')
    works.waitFor('a1', 'a2', 'b1')
    # What it has begun counts on, for it.
    works.end('b1')
    works.add('b2', 'c1')
    works.waitFor('a1', 'a2', 'b1', 'b2')
    assert works.places.working == {'a': 2, 'b': 1}
    works.end(*(work.what for work in works.places.placed
                if work.tenant_name == 'a'))
    works.waitFor('a1', 'a2', 'b1', 'b2', 'c1')


def test_work_that_takes_too_long_loses_its_place(works):
    works.places.time = 0.01
    works.add('a1', 'a2', 'a3')
    works.waitFor('a1', 'a2', 'a3')


def test_nothing_begins_after_the_end(works):
    works.add('a1', 'a2', 'a3')
    works.waitFor('a1', 'a2')
    works.places.stop()
    with pytest.raises(Stopped):
        works.add('a4')
    works.end('a1', 'a2')
    # That sees for itself that it is over.
    works.waitFor('a1', 'a2', 'a3')
    works.end('a3')
    works.places.join(TIMEOUT)
    assert not works.places.working.total()


@pytest.mark.parametrize('tenants', ['ab', 'abc'])
def test_all_is_done_in_the_end(works, tenants):
    works.places.shared_time = 0.001
    names = [f'{tenant}{number}' for tenant, number in itertools.product(
        tenants, range(10))]
    for name in names:
        works.ends[name].set()
    works.add(*names)
    works.waitFor(*names)
    waitFor(lambda: not works.places.working.total())
    assert not works.places.placed
