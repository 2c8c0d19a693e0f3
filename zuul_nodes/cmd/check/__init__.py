"""``zuul-nodes check``: checks a provider's resources in its cloud."""

from zuul_nodes.cmd.check.command import addArguments, run

__all__ = ['addArguments', 'run']
