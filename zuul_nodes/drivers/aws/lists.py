"""Lists of what there is, which know how old they are."""

import time

from zuul.driver.aws.util import tag_list_to_dict

# Seconds for which AWS may fail to list something, before that is a failure
# of the nodes that wait for it.
BLIND = 60
RELEASED = ('released', 'released-permanent-failure')


class Listed(list):
    """
    :ivar float begun: when AWS was asked, by the monotonic clock.
    """

    def __init__(self, things, begun):
        super().__init__(things)
        self.begun = begun

    @staticmethod
    def getTags(thing):
        """:return: tags as a dictionary."""
        return tag_list_to_dict(thing.get('Tags'))

    @staticmethod
    def isGone(thing):
        """:return: whether an instance or a host is there no more."""
        state = thing['State']
        if isinstance(state, dict):
            return state['Name'].lower() == 'terminated'
        return state.lower() in RELEASED


class Lister:
    """
    :param log: for what fails.
    """

    def __init__(self, log):
        self.log = log
        self._last = {}

    def list(self, name, ask):
        """
        :param str name: what is listed.
        :param ask: calls AWS.
        :return: what there is, or was there not long ago, :class:`Listed`.
        :raises Exception: AWS gives no lists any more.
        """
        begun = time.monotonic()
        try:
            found = Listed(ask(), begun)
        except Exception as error:
            last = self._last.get(name)
            if last is None or begun > last.begun + BLIND:
                raise
            self.log.warning('Unable to list %s: %s', name, error)
            return last
        self._last[name] = found
        return found
