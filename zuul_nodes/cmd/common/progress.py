"""Progress output: a line for each step, with its duration."""

import os

from zuul_nodes.quickstart.steps import Listener


class Progress(Listener):
    """
    :param stream: a text stream with a file descriptor.
    """

    def __init__(self, stream):
        self.stream = stream

    def say(self, text, end='\n'):
        try:
            print(text, end=end, file=self.stream, flush=True)
        except OSError:
            # The reader is gone.  Finish the work without progress output.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)

    def started(self, step):
        self.say(f'{step.name} ... ', end='')

    def finished(self, step):
        self.say(f'{step.result}, {step.seconds:.1f} s')
