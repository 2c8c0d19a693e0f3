"""Lists of what there is, which know how old they are."""

import math
import time

from zuul.driver.aws.util import tag_list_to_dict

from zuul_nodes.drivers.aws import errors

# Seconds for which AWS may fail to list something, before that is a failure
# of the nodes that wait for it.
BLIND = 60
RELEASED = ('released', 'released-permanent-failure')


class Listed(list):
    """
    :ivar float begun: when AWS was asked, by the monotonic clock.
    :ivar Exception error: why nothing is known yet; None if it is.
    """

    def __init__(self, things, begun, error=None):
        super().__init__(things)
        self.begun = begun
        self.error = error

    def check(self):
        """:return: itself.
        :raises Exception: nothing is known yet."""
        if self.error:
            raise self.error
        return self

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
        # Name -> until when the last list will do.
        self._ends = {}

    def list(self, name, ask):
        """
        :param str name: what is listed.
        :param ask: calls AWS.
        :return: what there is, or was there not long ago, :class:`Listed`.
            If nothing is known yet it is empty, and older than all else.
        :raises Exception: AWS gives no lists any more.
        """
        begun = time.monotonic()
        try:
            found = Listed(ask(), begun)
        except Exception as error:
            said = errors.translate(error)
            last = self._last.setdefault(name, Listed((), -math.inf, said))
            if begun > self._ends.setdefault(name, begun + BLIND):
                raise said from error
            self.log.warning('Unable to list %s: %s', name, said)
            return last
        self._last[name], self._ends[name] = found, begun + BLIND
        return found
