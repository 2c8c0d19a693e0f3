"""What the start-up file calls: the door by which stock commands get in.

Python runs this in every program of the environment (``zuul_nodes.pth``
today, ``zuul_nodes.start`` of PEP 829 from Python 3.15), so it costs
next to nothing there: it imports ``sys`` alone, looks at the program's
name, and is done unless the program is one of Zuul's commands.

In those it cannot act at once.  Zuul must not be imported this early (a
command may only want to print its ``--help``, or fork first), and what
is to be substituted does not exist yet.  So it waits at
``sys.meta_path`` for Zuul to import ``zuul.cmd``, which every command
that reads ``zuul.conf`` is made of, and installs the plugin right after
that: before the command reads anything.
"""

import sys

# Imported whole when the plugin is installed, so that the packages whose
# entry points are then loaded can import it, too.
HOST_MODULE = 'zuul.cmd'


def main():
    """Arm the door if this is one of Zuul's commands.

    May be called more than once: a virtual environment inside another
    has the start-up file twice.
    """
    argv = getattr(sys, 'argv', None)
    if argv and isZuulCommand(argv[0]) and not isArmed():
        sys.meta_path.insert(0, _Door())


def isZuulCommand(path):
    """:return: whether a program of this path is one of Zuul's.

    ``zuul-nodes`` is not: its subcommands install the plugin themselves.
    """
    name = path.rpartition('/')[2]
    return name == 'zuul' or (
        name.startswith('zuul-') and name != 'zuul-nodes')


def isArmed():
    """:return: whether the door waits in this process."""
    return any(isinstance(finder, _Door) for finder in sys.meta_path)


class _Door:
    """A finder that finds nothing itself, but learns of the import."""

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
        # Leave the loader as it was: introspection uses it later on.
        del loader.exec_module
        exec_module(module)
        callback()

    loader.exec_module = execModuleAndCall


def _enter():
    from zuul_nodes import plugin
    plugin.enter()
