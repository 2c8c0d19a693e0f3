"""The options in zuul.conf that a connection reads."""


class _Options(dict):
    """A section of zuul.conf that records which options are read."""

    def __init__(self):
        self.defaults = {}

    def __bool__(self):
        return True

    def __contains__(self, name):
        self.defaults.setdefault(name, None)
        return True

    def get(self, name, default=None):
        self.defaults[name] = default
        return default


def getOptions(driver_class):
    """Create a connection of a driver.

    :param driver_class: a driver class of zuul-nodes or of Zuul.
    :return: option that the connection reads -> its default, None without
        one.
    """
    options = _Options()
    driver_class().getConnection('example', options)
    return options.defaults
