"""How zuul-nodes enters an unmodified Zuul.

This room holds the only code that substitutes anything of Zuul's, by
one table of seams (``seams.py``).  Three doors lead to
:func:`install`, which may be called any number of times:

* the start-up file of the installed package (``zuul_nodes.autoload``);
* ``zuul-nodes run zuul-scheduler ...``;
* a handler in the ``log_config`` of a Zuul component
  (``zuul_nodes.plugin.logdoor``).

What comes in by the seams is found by entry points
(``extensions.py``); this room knows no driver, parser or component by
name.  Nothing here starts a thread: Zuul's daemons fork after it.  And
no module of this room imports Zuul at its top: the room is read before
it is known whether Zuul is as it should be.
"""

import os
import sys

import zuul_nodes
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, refusal, seams

DISABLE_VARIABLE = 'ZUUL_NODES_DISABLE'

_installed = False


def isDisabled(environ=os.environ):
    """:return: whether the operator has switched the plugin off."""
    return environ.get(DISABLE_VARIABLE, '').lower() not in (
        '', '0', 'false')


def isInstalled():
    """:return: whether the plugin is in this process."""
    return _installed


def install():
    """Put the plugin into this process, wholly or not at all.

    If Zuul is not as the plugin knows it, Zuul is left untouched and
    one line on standard error says so.

    :return: whether the plugin is in.
    :raises UserError: an entry point is broken or given twice, or Zuul
        is left untouched but the site relies on the plugin.
    """
    global _installed
    if _installed:
        return True
    if isDisabled():
        return False
    mismatches = seams.findMismatches()
    if mismatches:
        reason = '; '.join(mismatches)
        refusal.refuseIfNeeded(reason)
        print(f'zuul-nodes {zuul_nodes.__version__} leaves Zuul untouched, '
              f'which runs without it: {reason}', file=sys.stderr)
        return False
    seams.substitute(extensions.load())
    _installed = True
    return True


def enter():
    """Install for a door inside one of Zuul's commands.

    Ends the process with one line and exit status 1 where
    :func:`install` raises.
    """
    try:
        install()
    except UserError as error:
        sys.exit(f'zuul-nodes: {error}')
