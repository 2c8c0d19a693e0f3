"""The seams at which the scheduler runs components in its process.

Components start after ``prime()``, which the scheduler calls when it is up,
and never with ``--validate-tenants``.  They stop before any part of the
scheduler stops.  Each component has its own connection registry, as in a
separate process: stopping it must not stop the scheduler's sources and
triggers.
"""

import contextlib
import functools
import logging
import signal
import threading

from zuul_nodes.exceptions import UserError

log = logging.getLogger('zuul.nodes.plugin')


def wrapPrime(prime, extensions):
    @functools.wraps(prime)
    def wrapper(self, config):
        # Report errors in zuul.conf before the tenants are loaded.
        classes = getEmbedded(config, extensions.components)
        prime(self, config)
        if classes:
            _endOnSIGTERM(self)
        components = getComponents(self)
        try:
            with _signalsHeld():
                components.start(config, classes)
        except BaseException:
            # Includes Ctrl-C, after which Zuul does not stop a scheduler that
            # is not yet up.
            components.stop()
            raise
    return wrapper


def wrapStop(stop, extensions):
    @functools.wraps(stop)
    def wrapper(self):
        with _signalsIgnored():
            getComponents(self).stop()
            stop(self)
    return wrapper


@contextlib.contextmanager
def _signalsIgnored():
    """Ignore further signals during a stop that a signal started.

    The handler of a second signal would run in the same thread and wait for
    the stop that it interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, signal.SIG_IGN)
                for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _signalsHeld():
    """Hold signals back until a start has finished.

    The handler of a signal runs in the main thread, in the middle of the
    start.  If the handler stopped the components, it would wait for a lock
    that the start holds.  If it raised an exception, a component would be
    left in an unknown state.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = []
    handlers = {number: signal.signal(
                    number, lambda number, frame: held.append(number))
                for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(held):
            signal.raise_signal(number)


def isEmbedded(config, name, default=True):
    """:return: whether the scheduler runs the component in its process.

    :raises UserError: the option in zuul.conf is not a boolean.
    """
    try:
        return config.getboolean(name, 'embedded', fallback=default)
    except ValueError as error:
        raise UserError(f'zuul.conf: "embedded" in [{name}] is neither '
                        f'true nor false: {error}') from error


def getEmbedded(config, classes):
    """:return: name -> class of the components to run."""
    embedded = {}
    for name, component_class in classes.items():
        if isEmbedded(config, name):
            embedded[name] = component_class
        else:
            log.info("Not running component %s in the scheduler: "
                     "[%s] embedded = false", name, name)
    return embedded


def getComponents(scheduler):
    """:return: the :class:`Components` of this scheduler."""
    # Atomic, because the thread of the command socket may call stop() while
    # the main thread is in prime().
    return scheduler.__dict__.setdefault('embedded_components', Components())


def _endOnSIGTERM(scheduler):
    """Let SIGTERM stop a scheduler that runs as a daemon.

    Zuul handles SIGTERM only in the foreground.  The main thread of a daemon
    ends at once.  That ends a process with daemonic threads only, but not a
    process with a launcher, which should be stopped properly anyway.
    """
    app = scheduler._zuul_app
    if app and not app.args.nodaemon:
        signal.signal(signal.SIGTERM, app.exit_handler)


class Components:
    """The components in one scheduler."""

    def __init__(self):
        self.lock = threading.Lock()
        self.stopping = False
        self.running = []

    def start(self, config, classes):
        """Start components, until :meth:`stop` is called.

        :param ConfigParser config: zuul.conf
        :param dict classes: name -> class
        """
        from zuul.lib.connections import ConnectionRegistry
        with self.lock:
            for name, component_class in classes.items():
                if self.stopping:
                    return
                log.info("Starting component %s", name)
                connections = ConnectionRegistry()
                connections.configure(config, providers=True)
                component = component_class(config, connections)
                # Before the start, so that a failed start is stopped too.
                self.running.append((name, component))
                component.start()

    def stop(self):
        """Stop all components, the last one first, and start no more."""
        self.stopping = True
        with self.lock:
            while self.running:
                name, component = self.running.pop()
                log.info("Stopping component %s", name)
                try:
                    component.stop()
                    component.join()
                except Exception:
                    # Continue with the other components and the scheduler.
                    log.exception("Unable to stop component %s:", name)
