"""``zuul-nodes explain``: explains where a node's attributes are set."""

from zuul_nodes.cmd.explain.command import addArguments, run

__all__ = ['addArguments', 'run']
