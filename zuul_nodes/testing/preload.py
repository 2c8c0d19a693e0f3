"""What the process has imported that launchers are forked from.

Drivers of the installed packages come with the libraries of their clouds,
which are more than the launcher itself.
"""

import contextlib

from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions
import zuul_nodes.testing.launcher  # noqa: F401

# The launcher says what is wrong with them.
with contextlib.suppress(UserError):
    extensions.load()
