import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

import zuul_nodes

project = 'zuul-nodes'
extensions = ['zuul_nodes.reference']
version = release = zuul_nodes.__version__
html_theme = 'alabaster'
# What is shown is taken from the files that a test runs.
nitpicky = True
