import io
import threading

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.cmd.common.waiting import MOMENT, Overdue, Waiting


class Clock:
    """A clock that a test advances."""

    def __init__(self):
        self.now = 0
        self.looks = 0

    def __call__(self):
        self.looks += 1
        return self.now

    def advance(self, seconds):
        """Return when the waiting thread has seen the new time, and before,
        the step that has begun."""
        self.waitForLooks()
        self.now += seconds
        self.waitForLooks()

    def waitForLooks(self):
        # One may be under way.
        wanted = self.looks + 2
        waitFor(lambda: self.looks >= wanted)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def stream():
    return io.StringIO()


def test_a_result_is_returned_and_an_error_is_raised(stream):
    waiting = Waiting(10, stream)
    assert waiting.runWork(lambda: 'done') == 'done'
    with pytest.raises(ZeroDivisionError):
        waiting.runWork(lambda: 1 / 0)
    assert stream.getvalue() == ''


def test_a_step_longer_than_a_moment_is_announced_once(stream, clock):
    waiting = Waiting(10, stream, clock, interval=0.001)

    def work():
        waiting.begin('Looking', '')
        clock.advance(MOMENT / 2)
        waiting.begin('Thinking', '')
        clock.advance(MOMENT * 1.2)
        clock.advance(MOMENT * 1.2)
        waiting.begin('Writing', '')
    waiting.runWork(work)
    assert stream.getvalue() == 'Thinking ...\n'


def test_a_step_that_exceeds_its_timeout_is_given_up(stream, clock):
    end = threading.Event()
    waiting = Waiting(.3, stream, clock, interval=0.001)

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
