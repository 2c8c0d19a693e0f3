"""``zuul-nodes explain``: where do the attributes of a node come from?"""

from zuul_nodes.cmd.explain.command import addArguments, run

__all__ = ['addArguments', 'run']
