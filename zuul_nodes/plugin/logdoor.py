"""Installation through Zuul's ``log_config``.

For environments without start-up files (``python -I -S``, some distributions'
packages).  A handler in the logging configuration names this factory, and Zuul
calls it before it configures its connections::

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

    :return: a handler that drops all records.
    """
    plugin.enter()
    return logging.NullHandler()
