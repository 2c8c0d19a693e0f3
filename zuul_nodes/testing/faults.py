"""Faults in the calls of drivers, in the process of the launcher only.

A file contains the call that fails and the kind of the fault, because a
launcher must not die of the same fault again after its restart.  Another file
contains a journal of calls, which both processes can read at any time.
"""

import collections
from collections.abc import Callable
import dataclasses
import json
import os
import pathlib
import signal
import threading
import time
from typing import Any

from zuul.driver import Driver as ZuulDriver
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.drivers import Driver, TemporaryError
from zuul_nodes.drivers.framework.calls import Calls
from zuul_nodes.plugin.extensions import getEndpointClass

# Time-out of a call for the driver, and duration of a call that hangs.
CALL_TIMEOUT = 2
HANG = 2.5

# The original call.
Act = Callable[[], Any]
# A line of the journal.
Entry = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault in one call.

    :ivar call: the name of a call: a method of the adapter, or for other
        drivers a name as of :func:`install`.
    :ivar kind: one of :data:`KINDS`.
    :ivar occurrence: number of the call of that name that fails.
    """

    call: str
    kind: str
    occurrence: int = 1

    @property
    def kills(self) -> bool:
        """:return: whether the fault kills the launcher."""
        return self.kind.startswith('kill')

    def __str__(self) -> str:
        return f'{self.kind} at call {self.occurrence} of {self.call}'


def _error(act: Act) -> None:
    raise TemporaryError('injected: the cloud cannot do it now')


def _lost(act: Act) -> None:
    act()
    raise ConnectionResetError('injected: the answer is lost')


def _timeout(act: Act) -> None:
    act()
    raise TimeoutError('injected: the answer is late')


def _hang(act: Act) -> None:
    time.sleep(HANG)
    raise TimeoutError('injected: there was no answer')


def _late(act: Act) -> None:
    time.sleep(HANG)
    act()
    raise TimeoutError('injected: the answer came after the time-out')


def _kill(act: Act) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killAfter(act: Act) -> None:
    try:
        act()
    finally:
        # Also after an error, like that there is no such instance.
        _kill(act)


# Kind -> function that replaces a call.
KINDS: dict[str, Callable[[Act], object]] = {
    'error': _error,
    'lost': _lost,
    'timeout': _timeout,
    'hang': _hang,
    'late': _late,
    'kill-before': _kill,
    'kill-after': _killAfter,
}


class Journal:
    """A record of calls, and the next fault; shared by the processes.

    :param directory: of the files.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(directory) / 'calls'
        self.plan_path = pathlib.Path(directory) / 'fault'
        self.path.touch()

    # For the kit

    def begin(self, fault: Fault | None = None) -> None:
        """Begin a new plan, and restart the count of calls.

        :param fault: of the plan.
        """
        number, _ = self.readPlan()
        part = self.plan_path.with_suffix('.part')
        part.write_text(json.dumps([
            number + 1, fault and dataclasses.asdict(fault)]))
        part.rename(self.plan_path)

    def isBegun(self) -> bool:
        """:return: whether the fault has begun."""
        return bool(self._readFault())

    def isOver(self) -> bool:
        """:return: whether the fault has ended."""
        _, fault = self.readPlan()
        entries = self._readFault()
        return fault is None or (
            bool(entries) and (fault.kills or 'over' in entries[-1]))

    def readDeath(self) -> int | None:
        """:return: the number of the last plan whose fault has killed a
            launcher, or None.  The kit may have begun the next plan before
            the launcher died."""
        return max((entry['plan'] for entry in self.read(everything=True)
                    if entry.get('kills')), default=None)

    def _readFault(self) -> list[Entry]:
        return [entry for entry in self.read() if 'fault' in entry]

    def read(self, everything: bool = False) -> list[Entry]:
        """:return: a list of the entries of the current plan."""
        number, _ = self.readPlan()
        entries = map(json.loads, self.path.read_text().splitlines())
        return [entry for entry in entries
                if everything or entry['plan'] == number]

    def getCalls(self) -> collections.Counter[str]:
        """:return: number of calls by name, in the order of the first calls.
        """
        return collections.Counter(
            entry['call'] for entry in self.read() if 'call' in entry)

    # For the launcher

    def readPlan(self) -> tuple[int, Fault | None]:
        """:return: the number of the plan, and its fault or None."""
        try:
            number, fault = json.loads(self.plan_path.read_text())
        except FileNotFoundError:
            return 0, None
        return number, fault and Fault(**fault)

    def noteEntry(self, number: int, **entry: object) -> None:
        """
        :param number: of the plan.
        """
        # One write, so that a launcher that dies cannot leave a partial line.
        with open(self.path, 'ab', buffering=0) as stream:
            stream.write(json.dumps(
                {'plan': number, **entry}).encode() + b'\n')


class Faults:
    """Records the calls of drivers, and replaces those that have to fail.

    :param directory: of the journal.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.journal = Journal(directory)
        self._lock = threading.Lock()

    def performCall(self, name: str, act: Act) -> Any:
        """Make a call, or the fault of the plan in its place.

        :param act: the call.
        :return: its result.
        """
        with self._lock:
            number, fault = self.journal.readPlan()
            self.journal.noteEntry(number, call=name)
            hit = fault if fault and name == fault.call and (
                self.journal.getCalls()[name] == fault.occurrence) else None
            if hit:
                self.journal.noteEntry(number, fault=str(hit),
                                       kills=hit.kills)
        try:
            return KINDS[hit.kind](act) if hit else act()
        except Exception as error:
            if not hit:
                self.journal.noteEntry(number, failed=name,
                                       error=repr(error)[:500])
            raise
        finally:
            if hit:
                self.journal.noteEntry(number, fault=str(hit), over=True)

    def wrap(self, cls: type, method: str, name: str | None = None) -> None:
        """Record a method of a class as a call."""
        original = getattr(cls, method)

        def wrapper(owner: object, *args: Any, **kwargs: Any) -> Any:
            def act() -> Any:
                result = original(owner, *args, **kwargs)
                # A generator may call the cloud for each page.
                return list(result) if method.startswith('list') else result
            return self.performCall(name or method, act)
        setattr(cls, method, wrapper)


def install(connections: ConnectionRegistry,
            directory: str | os.PathLike[str]) -> None:
    """Record the calls of drivers, and inject faults.

    For drivers that use :mod:`zuul_nodes.drivers`, these are the calls of
    their adapters.  For others, they are the steps of nodes
    (``create: STATE`` and ``delete: STATE``), and for images ``upload``,
    ``import``, ``createSnapshot`` and ``deleteImage``; and
    ``listInstances``, ``listResources`` and ``clean-up: deleteResource``.

    :param connections: with the drivers.
    """
    faults = Faults(directory)
    call = Calls.call

    def callAdapter(calls: Calls, name: str, *args: Any) -> Any:
        return faults.performCall(name, lambda: call(calls, name, *args))
    Calls.call = callAdapter  # type: ignore[assignment, method-assign]
    for driver in {connection.driver
                   for connection in connections.connections.values()}:
        if not isinstance(driver, Driver) and hasattr(
                driver, 'getProviderClass'):
            _installOther(faults, driver)


def _installOther(faults: Faults, driver: ZuulDriver) -> None:
    provider_class = driver.getProviderClass()
    faults.wrap(provider_class, 'deleteImage')
    for method, name in (('getImageUploadJob', 'upload'),
                         ('getImageImportJob', 'import')):
        _wrapMade(faults, provider_class, method, 'run',
                  name)
    for method, name in (('getCreateStateMachine', 'create'),
                         ('getDeleteStateMachine', 'delete')):
        _wrapMade(faults, provider_class, method, 'advance',
                  name + ': {0.state}')
    _wrapMade(faults, provider_class, 'getSnapshotStateMachine', 'advance',
              'createSnapshot')
    if endpoint_class := getEndpointClass(driver):
        for method in ('listInstances', 'listResources'):
            faults.wrap(endpoint_class, method)
        faults.wrap(endpoint_class, 'deleteResource',
                    'clean-up: deleteResource')


def _wrapMade(faults: Faults, cls: type, method: str, name: str,
              description: str) -> None:
    """Wrap a method of the objects that a method of a class creates.

    :param method: that creates an object, or returns None.
    :param name: of the method to wrap.
    :param description: the call's name, a format string for the object.
    """
    original = getattr(cls, method)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if made is not None:
            call = getattr(made, name)
            setattr(made, name, lambda *args: faults.performCall(
                description.format(made), lambda: call(*args)))
        return made
    setattr(cls, method, wrapper)
