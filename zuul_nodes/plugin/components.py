"""The seams at which the scheduler runs components inside itself.

Components start after ``prime()``, which the scheduler calls once it is
up and never with ``--validate-tenants``, and stop before anything of
the scheduler does.  Each gets a connection registry of its own, as a
process of its own would have: stopping it must not stop the
scheduler's sources and triggers.
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
        # Errors in zuul.conf come before the work of loading tenants.
        classes = getEmbedded(config, extensions.components)
        prime(self, config)
        if classes:
            _endOnSIGTERM(self)
        components = getComponents(self)
        try:
            with _signalsHeld():
                components.start(config, classes)
        except BaseException:
            # Also on Ctrl-C, for which Zuul does not stop a scheduler
            # that is not yet up.
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
    """Let a stop that was begun by a signal come to its end.

    A second signal would interrupt it, in the same thread, to wait for
    what only the interrupted stop can bring about.
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
    """Let a start that a signal comes upon come to its end first.

    The handler of a signal runs in the main thread, amid the start.  A stop
    from there would wait for a lock that the start holds, and an exception
    would leave a component of which nobody knows what of it has started.
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
    """:return: whether the scheduler is to run the component itself.

    :raises UserError: zuul.conf has something else than yes or no.
    """
    try:
        return config.getboolean(name, 'embedded', fallback=default)
    except ValueError as error:
        raise UserError(f'zuul.conf: "embedded" in [{name}] is neither '
                        f'true nor false: {error}') from error


def getEmbedded(config, classes):
    """:return: name -> class of the components that are to be run."""
    embedded = {}
    for name, component_class in classes.items():
        if isEmbedded(config, name):
            embedded[name] = component_class
        else:
            log.info("Component %s is not run in the scheduler: "
                     "[%s] embedded = false", name, name)
    return embedded


def getComponents(scheduler):
    """:return: the :class:`Components` of this scheduler."""
    # Atomic: stop() may come from the thread of the command socket while
    # the main thread is in prime().
    return scheduler.__dict__.setdefault('embedded_components', Components())


def _endOnSIGTERM(scheduler):
    """Have a scheduler that is a daemon stopped by SIGTERM.

    Zuul does so only for one in the foreground.  A daemon's main thread
    leaves at once, which ends a process whose threads are all daemonic,
    but not one with a launcher in it, and that should be stopped anyway.
    """
    app = scheduler._zuul_app
    if app and not app.args.nodaemon:
        signal.signal(signal.SIGTERM, app.exit_handler)


class Components:
    """The components that one scheduler runs."""

    def __init__(self):
        self.lock = threading.Lock()
        self.stopping = False
        self.running = []

    def start(self, config, classes):
        """
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
                # One that fails to start is stopped, too.
                self.running.append((name, component))
                component.start()

    def stop(self):
        """Stop them, the last started first; none is started any more."""
        self.stopping = True
        with self.lock:
            while self.running:
                name, component = self.running.pop()
                log.info("Stopping component %s", name)
                try:
                    component.stop()
                    component.join()
                except Exception:
                    # The scheduler and the other components stop anyway.
                    log.exception("Unable to stop component %s:", name)
