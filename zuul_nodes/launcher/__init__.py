"""The launcher: it gives nodes to requests and looks after images."""

from zuul_nodes.launcher.launcher import Launcher

__all__ = ['Launcher']
