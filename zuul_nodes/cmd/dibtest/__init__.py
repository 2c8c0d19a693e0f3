"""``zuul-nodes dib-test``: tests an image in an OpenStack cloud."""

from zuul_nodes.cmd.dibtest.command import addArguments, run

__all__ = ['addArguments', 'run']
