"""Look-ups of names in threads of their own."""

import threading

import pytest

from tests.fixtures.names import NAME
from zuul_nodes.launcher.providers.lookups import Lookups


def test_a_name_is_looked_up_again_after_there_was_no_thread_for_it(
        names, monkeypatch):
    names.say(['192.0.2.1'])
    lookups = Lookups()
    with monkeypatch.context() as context:
        def start(thread):
            raise RuntimeError("can't start new thread")
        context.setattr(threading.Thread, 'start', start)
        with pytest.raises(OSError, match='start new thread'):
            lookups.find(NAME).result(10)
    (_, (address, _)), = lookups.find(NAME).result(10)
    assert address == '192.0.2.1'


def test_who_asks_again_when_told_of_the_end_gets_another_answer(names):
    listening, asked = threading.Event(), threading.Event()
    names.say(lambda: listening.wait(10) and ['192.0.2.1'], ['192.0.2.2'])
    lookups, again = Lookups(), []

    def ask(_):
        again.append(lookups.find(NAME))
        asked.set()
    lookups.find(NAME).add_done_callback(ask)
    listening.set()
    assert asked.wait(10)
    (_, (address, _)), = again[0].result(10)
    assert address == '192.0.2.2'
