"""``zuul-nodes images``: lists the builds of images and manages them."""

from zuul_nodes.cmd.images.command import addArguments, run

__all__ = ['addArguments', 'run']
