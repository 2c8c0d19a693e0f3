"""When a wait for capacity is a failure.

Clouds have the same words for "full" and for "no host has ever been like
that".  Waiting helps only with the first.  So the launcher waits as long as
an instance of the flavor is running, which proves that the flavor fits
somewhere.  Without that proof it waits for a while, and then each further
refusal counts as an attempt: the request goes to another provider, or fails
and says why.
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

# Seconds for which refusals without a proof are waited out.
LIMIT = 3600


class Refusals:
    """Since when flavors have been refused, at one endpoint.

    :param limit: seconds.
    :param clock: gives seconds.
    """

    def __init__(self, limit: float = LIMIT,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.clock = clock
        self._since: dict[str, float] = {}
        self._lock = threading.Lock()

    def note(self, flavor: str) -> float:
        """
        :param flavor: that was refused.
        :return: seconds since the first refusal after the last proof.
        """
        now = self.clock()
        with self._lock:
            return now - self._since.setdefault(flavor, now)

    def forget(self, flavor: str) -> None:
        """There is a proof that the flavor fits somewhere."""
        with self._lock:
            self._since.pop(flavor, None)


class BoundedCreateStateMachine(CreateStateMachine):
    """One that does not wait for ever.

    Its endpoint has ``refusals``, a :class:`Refusals`.
    """

    def getFlavorName(self) -> str:
        """:return: what the cloud calls the flavor."""
        raise NotImplementedError

    def hasFlavor(self, instance: Instance, name: str) -> bool:
        """:return: whether an instance is of a flavor."""
        raise NotImplementedError

    def judge(self, error: DriverError) -> DriverError:
        if not isinstance(error, CapacityError | TemporaryError):
            return error
        flavor, refusals = self.getFlavorName(), self.endpoint.refusals
        if self._isProven(flavor):
            refusals.forget(flavor)
            return error
        elapsed = refusals.note(flavor)
        if elapsed < refusals.limit:
            return error
        return DriverError(
            f'{error}. No instance of the flavor "{flavor}" is running, and '
            f'each was refused for {elapsed:.0f} seconds; perhaps no host '
            'can have one')

    def _isProven(self, flavor: str) -> bool:
        # A list from before the refusal will do.
        instances = self.endpoint.listing.get(float('-inf')) or ()
        return any(instance.state is State.READY
                   and self.hasFlavor(instance, flavor)
                   for instance in instances)
