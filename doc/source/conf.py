import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / 'doc/extensions')]

import zuul_nodes  # noqa: E402

project = 'zuul-nodes'
extensions = ['commands', 'metrics', 'sphinx.ext.graphviz',
              'zuul_nodes.reference', 'zuul_sphinx', 'zuulconf']
graphviz_output_format = 'svg'
# They are put together from the history, which a source distribution has not,
# and a shallow clone not all of it.
if (ROOT / '.git').exists() and not (ROOT / '.git' / 'shallow').exists():
    extensions.append('reno.sphinxext')
else:
    exclude_patterns = ['reference/release-notes.rst']
    suppress_warnings = ['toc.excluded', 'ref.doc']
version = release = zuul_nodes.__version__
html_theme = 'alabaster'
nitpicky = True
# Only Zuul's descriptions of attributes link there, which are not ours to
# repair.
linkcheck_ignore = [r'https://azure\.microsoft\.com/',
                    r'https://boto3\.amazonaws\.com/']
