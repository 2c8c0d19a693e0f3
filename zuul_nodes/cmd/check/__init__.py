"""``zuul-nodes check``: has the cloud what the configuration names?"""

from zuul_nodes.cmd.check.command import addArguments, run

__all__ = ['addArguments', 'run']
