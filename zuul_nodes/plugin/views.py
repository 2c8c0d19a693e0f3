"""What Zuul is shown in place of one of its objects."""


class View:
    """An object with some other attributes.

    :param original: whose all others are.
    """

    def __init__(self, original, **attributes):
        vars(self).update(attributes)
        self._original = original

    def __getattr__(self, name):
        return getattr(self._original, name)
