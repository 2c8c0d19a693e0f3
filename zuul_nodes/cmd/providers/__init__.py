"""``zuul-nodes providers``: lists the providers, and erases their records."""

from zuul_nodes.cmd.providers.command import addArguments, run

__all__ = ['addArguments', 'run']
