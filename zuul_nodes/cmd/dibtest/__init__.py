"""``zuul-nodes dib-test``: does an image work in an OpenStack cloud?"""

from zuul_nodes.cmd.dibtest.command import addArguments, run

__all__ = ['addArguments', 'run']
