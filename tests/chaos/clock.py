"""The clock of a launcher's process, which can be wrong.

The driver, which the launcher imports, installs it.
"""

import os
import pathlib
import threading
import time

# Names the file with the seconds by which the clock is wrong.
VARIABLE = 'CHAOS_CLOCK'
INTERVAL = 0.2
getRealTime = time.time


def install():
    """Set the clock of this process by its file, whenever that changes."""
    if path := os.environ.get(VARIABLE):
        clock = Clock(pathlib.Path(path))
        time.time = clock.getTime
        threading.Thread(target=clock.run, name='clock', daemon=True).start()


class Clock:
    """
    :param Path path: of the file; while it is missing, the clock is right.
    """

    def __init__(self, path):
        self.path = path
        self.offset = 0.0
        self.read()

    def getTime(self):
        return getRealTime() + self.offset

    def read(self):
        if self.path.exists():
            # It is empty for a moment.
            self.offset = float(self.path.read_text() or self.offset)

    def run(self):
        while True:
            time.sleep(INTERVAL)
            self.read()
