"""Faults in the calls of drivers, in the launcher's process alone.

Which call fails, and how, is in a file, for a launcher that has died of
it must not do so again.  What was called is in another file, to which
both this process and the kit may look at any time.
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

# Seconds that a driver may take for a call, and that one takes that hangs.
CALL_TIMEOUT = 2
HANG = 2.5

# What a call does.
Act = Callable[[], Any]
# A line of the journal.
Entry = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Fault:
    """
    :ivar call: the name of a call: a method of the adapter, or of
        other drivers what :func:`install` tells.
    :ivar kind: one of :data:`KINDS`.
    :ivar occurrence: which of the calls of that name fails.
    """

    call: str
    kind: str
    occurrence: int = 1

    @property
    def kills(self) -> bool:
        """:return: whether the launcher dies of it."""
        return self.kind.startswith('kill')

    def __str__(self) -> str:
        return f'{self.kind} at call {self.occurrence} of {self.call}'


def _error(act: Act) -> None:
    raise TemporaryError('injected: the cloud can not do it now')


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
    raise TimeoutError('injected: the answer came when nobody waited')


def _kill(act: Act) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killAfter(act: Act) -> None:
    act()
    _kill(act)


# What is done in place of a call.
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
    """What was called, and what fails next; shared by processes.

    :param directory: where it is.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(directory) / 'calls'
        self.plan_path = pathlib.Path(directory) / 'fault'
        self.path.touch()

    # For the kit

    def begin(self, fault: Fault | None = None) -> None:
        """Count anew.

        :param fault: that is to be, from now on.
        """
        number, _ = self.readPlan()
        part = self.plan_path.with_suffix('.part')
        part.write_text(json.dumps([
            number + 1, fault and dataclasses.asdict(fault)]))
        part.rename(self.plan_path)

    def isBegun(self) -> bool:
        """:return: whether there was the fault."""
        return bool(self._readFault())

    def isOver(self) -> bool:
        """:return: whether the fault has been, to the end of it."""
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
        """:return: a list of what was noted since it was counted anew."""
        number, _ = self.readPlan()
        entries = map(json.loads, self.path.read_text().splitlines())
        return [entry for entry in entries
                if everything or entry['plan'] == number]

    def getCalls(self) -> collections.Counter[str]:
        """:return: how often what was called, in the order of the first
            calls."""
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

    def note(self, number: int, **entry: object) -> None:
        """
        :param number: of the plan.
        """
        # One write, so that a launcher that dies leaves no half of a line.
        with open(self.path, 'ab', buffering=0) as stream:
            stream.write(json.dumps(
                {'plan': number, **entry}).encode() + b'\n')


class Faults:
    """
    :param directory: of the journal.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.journal = Journal(directory)
        self._lock = threading.Lock()

    def perform(self, name: str, act: Act) -> Any:
        """Do what is called, or what the plan says.

        :param act: what the call does.
        :return: what it returns.
        """
        with self._lock:
            number, fault = self.journal.readPlan()
            self.journal.note(number, call=name)
            hit = fault if fault and name == fault.call and (
                self.journal.getCalls()[name] == fault.occurrence) else None
            if hit:
                self.journal.note(number, fault=str(hit), kills=hit.kills)
        try:
            return KINDS[hit.kind](act) if hit else act()
        except Exception as error:
            if not hit:
                self.journal.note(number, failed=name,
                                  error=repr(error)[:500])
            raise
        finally:
            if hit:
                self.journal.note(number, fault=str(hit), over=True)

    def wrap(self, cls: type, method: str, name: str | None = None) -> None:
        """Have a method of a class be a call."""
        original = getattr(cls, method)

        def wrapper(owner: object, *args: Any, **kwargs: Any) -> Any:
            def act() -> Any:
                result = original(owner, *args, **kwargs)
                # What is listed may be asked for page by page.
                return list(result) if method.startswith('list') else result
            return self.perform(name or method, act)
        setattr(cls, method, wrapper)


def install(connections: ConnectionRegistry,
            directory: str | os.PathLike[str]) -> None:
    """Have the calls of drivers note themselves and fail.

    Of drivers that are made with :mod:`zuul_nodes.drivers`, these are the
    calls of their adapters.  Of others, they are the steps of nodes
    (``create: STATE`` and ``delete: STATE``), and of images ``upload``,
    ``import``, ``createSnapshot`` and ``deleteImage``; and
    ``listInstances``, ``listResources`` and ``clean-up: deleteResource``.

    :param connections: with the drivers.
    """
    faults = Faults(directory)
    call = Calls.call

    def callAdapter(calls: Calls, name: str, *args: Any) -> Any:
        return faults.perform(name, lambda: call(calls, name, *args))
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
    """Wrap a method of what a method of a class makes, if it makes anything.

    :param method: which makes it.
    :param name: of the method that is wrapped.
    :param description: the call's name, a format of what is made.
    """
    original = getattr(cls, method)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if made is not None:
            call = getattr(made, name)
            setattr(made, name, lambda *args: faults.perform(
                description.format(made), lambda: call(*args)))
        return made
    setattr(cls, method, wrapper)
