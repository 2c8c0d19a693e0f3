import io
import threading

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.cmd.common import waiting as waiting_module
from zuul_nodes.cmd.common.waiting import MOMENT, Overdue, Waiting


class Clock:
    """Seconds, as a test counts them."""

    def __init__(self):
        self.now = 0
        self.looks = 0

    def monotonic(self):
        self.looks += 1
        return self.now

    def advance(self, seconds):
        """Returns when who waits has seen it, and before, what has begun."""
        self.waitForLooks()
        self.now += seconds
        self.waitForLooks()

    def waitForLooks(self):
        # One may be under way.
        wanted = self.looks + 2
        waitFor(lambda: self.looks >= wanted)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(waiting_module, 'time', clock)
    monkeypatch.setattr(waiting_module, 'TICK', 0.001)
    return clock


@pytest.fixture
def stream():
    return io.StringIO()


def test_result_and_error(stream):
    waiting = Waiting(10, stream)
    assert waiting.runWork(lambda: 'done') == 'done'
    with pytest.raises(ZeroDivisionError):
        waiting.runWork(lambda: 1 / 0)
    assert stream.getvalue() == ''


def test_what_takes_more_than_a_moment_is_told_once(stream, clock):
    waiting = Waiting(10, stream)

    def work():
        waiting.begin('Looking', '')
        clock.advance(MOMENT / 2)
        waiting.begin('Thinking', '')
        clock.advance(MOMENT * 1.2)
        clock.advance(MOMENT * 1.2)
        waiting.begin('Writing', '')
    waiting.runWork(work)
    assert stream.getvalue() == 'Thinking ...\n'


def test_overdue(stream, clock):
    end = threading.Event()
    waiting = Waiting(.3, stream)

    def work():
        # Each step has its time.
        for _ in range(3):
            waiting.begin('Looking', '')
            clock.advance(.2)
        waiting.begin('Thinking', 'See to it')
        clock.waitForLooks()
        clock.now += .4
        end.wait()
    with pytest.raises(Overdue) as caught:
        waiting.runWork(work)
    end.set()
    assert str(caught.value) == 'Thinking: not done within 0.3 s. See to it'
