"""Time-outs of the jobs that create images."""

import contextlib
import threading
import time

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.aws import errors


class Waits:
    """Limits the waits of all jobs of an endpoint; each has its own thread.

    Zuul's jobs request the state of an image repeatedly until AWS has
    completed or failed, without a time-out.
    """

    def __init__(self):
        self._stopping = threading.Event()
        self._job = threading.local()

    def stop(self):
        """End all waits; another launcher continues."""
        self._stopping.set()

    def limit(self, job, image, report=contextlib.nullcontext):
        """
        :param BaseImageJob job: of Zuul's, or None.
        :param ProviderImage image: that has the time-out.
        :param report: returns a context manager for the errors of the job.
        :return: the job, with a time-out, and with errors of the driver API.
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
        """Wait before the next request to AWS.

        :raises DriverError: the time is over.
        """
        image = self._job.image
        if time.monotonic() >= self._job.end:
            raise DriverError(
                f'Image {image.name} is not available after '
                f'{image.import_timeout} s, its import-timeout')
        if self._stopping.wait(seconds):
            raise DriverError(
                f'The wait for image {image.name} has ended because the '
                'endpoint stops')
