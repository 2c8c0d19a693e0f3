"""Decide when a lack of capacity counts as a failed attempt.

Clouds use the same words for "full" and for "no host can ever run this
flavor", and waiting helps only in the first case.  So the launcher waits while
an instance of the flavor is running, which proves that some host can run it.
Without that proof the launcher waits for a limited time.  After that each
refusal counts as an attempt: the request goes to another provider, or fails
with the reason.
"""

from collections.abc import Callable
import threading
import time

from zuul_nodes.drivers.api.errors import (
    CapacityError,
    DriverError,
    TemporaryError,
)
from zuul_nodes.drivers.api.model import Instance, State
from zuul_nodes.drivers.framework.statemachine import CreateStateMachine

# Seconds for which the launcher waits without a proof.
LIMIT = 3600


class Refusals:
    """Records since when one endpoint has refused each flavor.

    :param limit: seconds for which the launcher waits without a proof.
    :param clock: returns seconds.
    """

    def __init__(self, limit: float = LIMIT,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.clock = clock
        self._since: dict[str, float] = {}
        self._lock = threading.Lock()

    def noteRefusal(self, flavor: str) -> float:
        """
        :param flavor: that was refused.
        :return: seconds since the first refusal after the last proof.
        """
        now = self.clock()
        with self._lock:
            return now - self._since.setdefault(flavor, now)

    def forgetRefusals(self, flavor: str) -> None:
        """Restart the time, after a proof that a host can run the flavor."""
        with self._lock:
            self._since.pop(flavor, None)


class BoundedCreateStateMachine(CreateStateMachine):
    """Creates an instance, and limits the wait for capacity.

    Its endpoint has ``refusals``, a :class:`Refusals`.
    """

    def getFlavorName(self) -> str:
        """:return: the name of the flavor in the cloud."""
        raise NotImplementedError

    def hasFlavor(self, instance: Instance, name: str) -> bool:
        """:return: whether an instance has a flavor."""
        raise NotImplementedError

    def judge(self, error: DriverError) -> DriverError:
        if not isinstance(error, CapacityError | TemporaryError):
            return error
        flavor, refusals = self.getFlavorName(), self.endpoint.refusals
        if self._isProven(flavor):
            refusals.forgetRefusals(flavor)
            return error
        elapsed = refusals.noteRefusal(flavor)
        if elapsed < refusals.limit:
            return error
        return DriverError(
            f'{error}. No instance of the flavor "{flavor}" is running, and '
            f'the cloud has refused each for {elapsed:.0f} seconds; perhaps '
            'no host can run one')

    def _isProven(self, flavor: str) -> bool:
        # A list from before the refusal is recent enough.
        instances = self.endpoint.listing.get(float('-inf')) or ()
        return any(instance.state is State.READY
                   and self.hasFlavor(instance, flavor)
                   for instance in instances)
