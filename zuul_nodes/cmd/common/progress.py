"""Steps on a stream: a line for each, with how long it took."""

import os

from zuul_nodes.quickstart.steps import Listener


class Progress(Listener):
    """
    :param stream: of text, and of a file.
    """

    def __init__(self, stream):
        self.stream = stream

    def say(self, text, end='\n'):
        try:
            print(text, end=end, file=self.stream, flush=True)
        except OSError:
            # That nobody listens any more is no reason to stop in the
            # middle, nor to fail over what can not be said.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)

    def started(self, step):
        self.say(f'{step.name} ... ', end='')

    def finished(self, step):
        self.say(f'{step.result}, {step.seconds:.1f} s')
