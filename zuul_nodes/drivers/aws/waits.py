"""How long jobs wait for AWS, which make images of what it is given."""

import contextlib
import threading
import time

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.aws import errors


class Waits:
    """Those of all jobs of an endpoint; each job has a thread of its own.

    Zuul's jobs look at AWS again and again until it has made the image, or
    says why not, and have no other end.
    """

    def __init__(self):
        self._stopping = threading.Event()
        self._job = threading.local()

    def stop(self):
        """Nobody waits any more; another launcher goes on."""
        self._stopping.set()

    def limit(self, job, image, report=contextlib.nullcontext):
        """
        :param BaseImageJob job: of Zuul's, or None.
        :param ProviderImage image: which says how long it may take.
        :param report: gives a context manager for what the job raises.
        :return: the job, which is given up after that, and raises errors
            that the launcher knows.
        """
        if job is not None:
            run = job.run

            def runLimited(*args):
                with report(), errors.translated(), self._limit(image):
                    return run(*args)
            job.run = runLimited
        return job

    @contextlib.contextmanager
    def _limit(self, image):
        self._job.image = image
        self._job.end = time.monotonic() + image.import_timeout
        try:
            yield
        finally:
            del self._job.image, self._job.end

    def pause(self, seconds):
        """Wait before AWS is looked at again.

        :raises DriverError: there is no time left.
        """
        image = self._job.image
        if time.monotonic() >= self._job.end:
            raise DriverError(
                f'Image {image.name} is not there after '
                f'{image.import_timeout} s, its import-timeout')
        if self._stopping.wait(seconds):
            raise DriverError(
                f'Image {image.name} is not waited for any more')
