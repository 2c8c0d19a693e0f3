"""What makes images, in threads of the launcher."""

from zuul.provider import BaseImageJob


class ImageJob(BaseImageJob):
    """
    :param Calls calls: to the adapter that makes the image.
    :param str name: of its method.
    :param make_args: called with what :meth:`run` gets, for the arguments.
    """

    def __init__(self, calls, name, make_args):
        super().__init__()
        self.calls = calls
        self.name = name
        self.make_args = make_args

    def run(self, *args):
        """
        :param args: the path of the file if it was downloaded, or the id of
            the image that is copied.
        :return: the id of the image.
        """
        return self.calls.call(self.name, *self.make_args(*args))
