"""Views: objects of Zuul with some attributes replaced."""


class View:
    """An object with some attributes replaced.

    :param original: provides all other attributes.
    """

    def __init__(self, original, **attributes):
        vars(self).update(attributes)
        self._original = original

    def __getattr__(self, name):
        return getattr(self._original, name)
