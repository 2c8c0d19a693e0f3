"""What makes images, in threads of the launcher."""

from collections.abc import Callable
from typing import Any

from zuul.provider import BaseImageJob

from zuul_nodes.drivers.framework.calls import Calls


class ImageJob(BaseImageJob):
    """
    :param calls: to the adapter that makes the image.
    :param name: of its method.
    :param make_args: called with what :meth:`run` gets, for the arguments.
    """

    def __init__(self, calls: Calls, name: str,
                 make_args: Callable[..., tuple[Any, ...]]) -> None:
        super().__init__()
        self.calls = calls
        self.name = name
        self.make_args = make_args

    def run(self, *args: str) -> str:
        """
        :param args: the path of the file if it was downloaded, or the id of
            the image that is copied.
        :return: the id of the image.
        """
        return self.calls.call(self.name, *self.make_args(*args))
