"""``zuul-nodes migrate``: converts the configuration of Nodepool."""

from zuul_nodes.cmd.migrate.command import addArguments, run

__all__ = ['addArguments', 'run']
