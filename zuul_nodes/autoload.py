"""Load the plugin into stock commands; called by the start-up file.

Python runs this module in every program of the environment (through
``zuul_nodes.pth``, or ``zuul_nodes.start`` of PEP 829 from Python 3.15), so it
must be cheap.  It imports only ``sys`` and checks the program's name, and
does nothing more unless the program is one of Zuul's commands.

It cannot install the plugin at once.  Importing Zuul this early is too
expensive for a command that only prints its ``--help``, and unsafe for one
that forks first.  The module therefore adds a finder to ``sys.meta_path`` that
waits for the import of ``zuul.cmd``.  Every command that reads ``zuul.conf``
imports it.  The finder installs the plugin right after that import, before
the command reads its configuration.
"""

import sys

# Completely imported before the plugin is installed, so that the packages of
# entry points can import it as well.
HOST_MODULE = 'zuul.cmd'


def main():
    """Add the finder if this is one of Zuul's commands.

    Safe to call more than once: in a virtual environment inside another, both
    start-up files call it.
    """
    argv = getattr(sys, 'argv', None)
    if argv and isZuulCommand(argv[0]) and not isArmed():
        sys.meta_path.insert(0, _Door())


def isZuulCommand(path):
    """:return: whether a program of this path is one of Zuul's commands.

    ``zuul-nodes`` is not: its subcommands install the plugin themselves.
    """
    name = path.rpartition('/')[2]
    return name == 'zuul' or (
        name.startswith('zuul-') and name != 'zuul-nodes')


def isArmed():
    """:return: whether the finder is waiting in this process."""
    return any(isinstance(finder, _Door) for finder in sys.meta_path)


class _Door:
    """A finder that finds no modules, but notices an import."""

    def find_spec(self, name, path=None, target=None):
        if name != HOST_MODULE:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                _callAfterwards(spec.loader, _enter)
                return spec
        return None


def _callAfterwards(loader, callback):
    exec_module = loader.exec_module

    def execModuleAndCall(module):
        # Restore the loader, which introspection uses later.
        del loader.exec_module
        exec_module(module)
        callback()

    loader.exec_module = execModuleAndCall


def _enter():
    from zuul_nodes import plugin
    plugin.enter()
