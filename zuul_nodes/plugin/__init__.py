"""The plugin: installs zuul-nodes into an unmodified Zuul.

This room contains the only code that substitutes anything in Zuul, through
one table of seams (``seams.py``).  There are three ways to
:func:`install`, which may be called any number of times:

* the start-up file of the installed package (``zuul_nodes.autoload``);
* ``zuul-nodes run zuul-scheduler ...``;
* a handler in the ``log_config`` of a Zuul component
  (``zuul_nodes.plugin.logdoor``).

The seams call drivers, parsers, rules and components that entry points define
(``extensions.py``); this room knows none of them by name.  It starts no
threads, because Zuul's daemons fork afterwards.  Its modules do not import
Zuul at the top, because they must be importable before the plugin has checked
Zuul.
"""

import os
import sys

import zuul_nodes
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, refusal, seams

DISABLE_VARIABLE = 'ZUUL_NODES_DISABLE'

_installed = False


def isDisabled(environ=os.environ):
    """:return: whether the operator has disabled the plugin."""
    return environ.get(DISABLE_VARIABLE, '').lower() not in (
        '', '0', 'false')


def isInstalled():
    """:return: whether the plugin is installed in this process."""
    return _installed


def install(reading=False):
    """Install the plugin into this process, completely or not at all.

    If Zuul is not a version that the plugin supports, the plugin leaves Zuul
    unchanged and prints one line on standard error.

    :param bool reading: install only what reads the configuration: parsers
        and rules, without drivers and components.  A command that only reads
        then starts without Zuul's services, which take long to import.
    :return: whether the plugin is installed.
    :raises UserError: an entry point is broken or duplicated, or Zuul is not
        supported and the site relies on the plugin.
    """
    global _installed
    if _installed:
        return True
    if isDisabled():
        return False
    wanted = seams.READING if reading else seams.SEAMS
    groups = extensions.READING if reading else extensions.GROUPS
    mismatches = seams.findMismatches(wanted)
    if mismatches:
        reason = '; '.join(mismatches)
        refusal.refuseIfNeeded(reason)
        print(f'zuul-nodes {zuul_nodes.__version__} leaves Zuul unchanged, '
              f'which runs without it: {reason}', file=sys.stderr)
        return False
    seams.substitute(wanted, extensions.load(groups))
    _installed = True
    return True


def enter():
    """Install the plugin from within one of Zuul's commands.

    If :func:`install` raises an error, print it in one line and end the
    process with exit status 1.
    """
    try:
        install()
    except UserError as error:
        sys.exit(f'zuul-nodes: {error}')
