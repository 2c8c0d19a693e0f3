"""The seams at which the scheduler runs components inside itself.

Components start after ``prime()``, which the scheduler calls once it is
up and never with ``--validate-tenants``, and stop before anything of
the scheduler does.  Each gets a connection registry of its own, as a
process of its own would have: stopping it must not stop the
scheduler's sources and triggers.
"""

import functools
import logging

log = logging.getLogger("zuul.nodes.components")


def wrapPrime(prime, extensions):
    from zuul.lib.connections import ConnectionRegistry

    @functools.wraps(prime)
    def wrapper(self, config):
        prime(self, config)
        # Known to stop() before any is started: a scheduler that fails
        # here stops those that were.
        self.embedded_components = []
        for name, component_class in extensions.components.items():
            if not isEmbedded(config, name):
                log.info("Component %s is not run in the scheduler: "
                         "[%s] embedded = false", name, name)
                continue
            log.info("Starting component %s", name)
            connections = ConnectionRegistry()
            connections.configure(config, providers=True)
            component = component_class(config, connections)
            self.embedded_components.append((name, component))
            component.start()
    return wrapper


def wrapStop(stop, extensions):
    @functools.wraps(stop)
    def wrapper(self):
        # A second SIGTERM comes as a call in the middle of the first
        # one's, in the same thread: it would wait for itself.
        if getattr(self, 'is_stopping', False):
            return
        self.is_stopping = True
        for name, component in reversed(
                getattr(self, 'embedded_components', [])):
            log.info("Stopping component %s", name)
            try:
                component.stop()
                component.join()
            except Exception:
                # The scheduler and the other components stop anyway.
                log.exception("Unable to stop component %s:", name)
        stop(self)
    return wrapper


def isEmbedded(config, name):
    """:return: whether the scheduler is to run the component itself."""
    from zuul.lib.config import any_to_bool, get_default
    return any_to_bool(get_default(config, name, 'embedded', True))
