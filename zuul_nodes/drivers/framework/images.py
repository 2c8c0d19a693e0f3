"""Jobs that create images, in threads of the launcher."""

from collections.abc import Callable
from typing import Any

from zuul.provider import BaseImageJob

from zuul_nodes.drivers.framework.calls import Calls


class ImageJob(BaseImageJob):
    """Creates an image with a method of the adapter.

    :param calls: of the adapter that creates the image.
    :param name: of the method.
    :param make_args: called with the arguments of :meth:`run`; returns the
        arguments of the method.
    """

    def __init__(self, calls: Calls, name: str,
                 make_args: Callable[..., tuple[Any, ...]]) -> None:
        super().__init__()
        self.calls = calls
        self.name = name
        self.make_args = make_args

    def run(self, *args: str) -> str:
        """
        :param args: the path of a downloaded file, or the id of the source of
            a copy.
        :return: the id of the image.
        """
        return self.calls.call(self.name, *self.make_args(*args))
