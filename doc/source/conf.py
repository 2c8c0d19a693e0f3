import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

import zuul_nodes

ROOT = pathlib.Path(__file__).parents[2]
project = 'zuul-nodes'
extensions = ['zuul_nodes.reference']
# They are put together from the history, which a source distribution has not,
# and a shallow clone not all of it.
if (ROOT / '.git').exists() and not (ROOT / '.git' / 'shallow').exists():
    extensions.append('reno.sphinxext')
else:
    exclude_patterns = ['reference/release-notes.rst']
    suppress_warnings = ['toc.excluded', 'ref.doc']
version = release = zuul_nodes.__version__
html_theme = 'alabaster'
# What is shown is taken from the files that a test runs.
nitpicky = True
