import pytest

from zuul_nodes.quickstart.steps import Listener, Steps


class Recorder(Listener):
    def __init__(self):
        self.heard = []

    def started(self, step):
        self.heard.append(('started', step.name))

    def note(self, text):
        self.heard.append(('note', text))

    def finished(self, step):
        self.heard.append(('finished', step.name, step.result))


def test_progress_is_told_and_remembered():
    recorder = Recorder()
    steps = Steps(recorder)
    with steps.step('one'):
        steps.note('half')
    assert recorder.heard == [('started', 'one'), ('note', 'half'),
                              ('finished', 'one', 'ok')]
    step, = steps
    assert step.seconds >= 0


@pytest.mark.parametrize('error, result', [
    (ValueError, 'failed'), (KeyboardInterrupt, 'interrupted')])
def test_what_went_wrong_is_passed_on(error, result):
    steps = Steps()
    with pytest.raises(error), steps.step('one'):
        raise error
    assert [step.result for step in steps] == [result]
