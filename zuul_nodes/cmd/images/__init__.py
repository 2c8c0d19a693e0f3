"""``zuul-nodes images``: which builds of images there are, and where."""

from zuul_nodes.cmd.images.command import addArguments, run

__all__ = ['addArguments', 'run']
