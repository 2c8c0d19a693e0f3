"""The door through Zuul's ``log_config``.

For environments in which start-up files don't run (``python -I -S``,
some packagers' builds).  A handler of the logging configuration names
this factory, and Zuul calls it before it configures its connections::

    handlers:
      zuul-nodes:
        (): zuul_nodes.plugin.logdoor.handler
    root:
      handlers: [zuul-nodes]
"""

import logging

from zuul_nodes import plugin


def handler():
    """Install the plugin.

    :return: a handler that drops every record.
    """
    plugin.enter()
    return logging.NullHandler()
