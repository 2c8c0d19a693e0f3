import io
import threading
import time

import pytest

from zuul_nodes.cmd.waiting import MOMENT, Overdue, Waiting


@pytest.fixture
def stream():
    return io.StringIO()


def test_result_and_error(stream):
    waiting = Waiting(10, stream)
    assert waiting.run(lambda: 'done') == 'done'
    with pytest.raises(ZeroDivisionError):
        waiting.run(lambda: 1 / 0)
    assert stream.getvalue() == ''


def test_what_takes_more_than_a_moment_is_told_once(stream):
    waiting = Waiting(10, stream)

    def work():
        waiting.begin('Looking', '')
        waiting.begin('Thinking', '')
        time.sleep(MOMENT * 1.2)
        waiting.begin('Writing', '')
    waiting.run(work)
    assert stream.getvalue() == 'Thinking ...\n'


def test_overdue(stream):
    end = threading.Event()
    waiting = Waiting(.3, stream)

    def work():
        # Each step has its time.
        for _ in range(3):
            waiting.begin('Looking', '')
            time.sleep(.2)
        waiting.begin('Thinking', 'See to it')
        end.wait()
    with pytest.raises(Overdue) as caught:
        waiting.run(work)
    end.set()
    assert str(caught.value) == 'Thinking: not done within 0.3 s. See to it'
