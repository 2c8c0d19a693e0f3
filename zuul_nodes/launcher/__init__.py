"""The launcher, which assigns nodes to requests and manages images."""

from zuul_nodes.launcher.launcher import Launcher

__all__ = ['Launcher']
