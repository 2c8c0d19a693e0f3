"""A Sphinx extension that generates the reference of drivers from their code.

With ``zuul_nodes.reference`` among the extensions in ``conf.py``, the
directive ``driver`` shows the attributes of any package's driver that not all
drivers have.  Without a class, it shows the attributes that all drivers have:

.. code-block:: rst

   .. driver:: zuul_nodes.drivers.fake:FakeDriver
      :examples: examples/fake

Each attribute is an object of zuul-sphinx, named as Zuul's documentation does,
so that pages can refer to it and the search finds it:
``provider[fake].flavors.cores``, for example.  It is shown with the lines that
set it first in ``examples/fake.conf`` and ``examples/fake.yaml``.  The paths
are relative to ``conf.py``.

The directive ``abilities`` shows a table of what the drivers' clouds can do:

.. code-block:: rst

   .. abilities::

      zuul_nodes.drivers.fake:FakeDriver

The options of zuul.conf that a module has settings for are shown by:

.. code-block:: rst

   .. options:: zuul_nodes.launcher.settings
"""

import importlib
import pathlib

from zuul_nodes.reference import examples
from zuul_nodes.reference.abilities import COLUMNS, getRow
from zuul_nodes.reference.attributes import getSections
from zuul_nodes.reference.options import formatOptions
from zuul_nodes.reference.text import format, formatSections, formatTable

__all__ = ['format', 'formatOptions', 'formatSections', 'getSections', 'setup']


def load(name):
    """:return: the class that "module:Class" names."""
    module, _, name = name.partition(':')
    return getattr(importlib.import_module(module), name)


def addAnchors(signatures):
    """Add the anchors to which the search leads.

    zuul-sphinx names objects with dots, such as ``attr-label.name``, and tells
    the search that they have dashes instead.

    :param signatures: an iterable of nodes of Sphinx that describe objects.
    """
    for signature in signatures:
        signature['ids'] += [
            dashed for name in signature['ids']
            if (dashed := name.replace('.', '-')) not in signature['ids']]


def setup(app):
    """Called by Sphinx."""
    # Imported here, because other users of this package may lack Sphinx.
    from docutils.parsers.rst import directives
    from sphinx.addnodes import desc_signature
    from sphinx.util.docutils import SphinxDirective

    class DriverDirective(SphinxDirective):
        optional_arguments = 1
        option_spec = {'examples': directives.unchanged_required}

        def run(self):
            driver_class = load(self.arguments[0]) if self.arguments else None
            return self.parse_text_to_nodes('\n'.join(
                formatSections(driver_class, self.readExamples())))

        def readExamples(self):
            if 'examples' not in self.options:
                return {}
            path = pathlib.Path(
                self.env.srcdir, self.options['examples'].lstrip('/'))
            for file in path.parent.glob(f'{path.name}.*'):
                self.env.note_dependency(file)
            return examples.read(path)

    class AbilitiesDirective(SphinxDirective):
        has_content = True

        def run(self):
            classes = [load(line) for line in self.content if line.strip()]
            return self.parse_text_to_nodes('\n'.join(formatTable(
                ['', *(column.title for column in COLUMNS)],
                ([f'``{each.name}``', *getRow(each)] for each in classes))))

    class OptionsDirective(SphinxDirective):
        required_arguments = 1

        def run(self):
            settings = importlib.import_module(self.arguments[0])
            return self.parse_text_to_nodes(
                '\n'.join(formatOptions(settings)))

    app.setup_extension('zuul_sphinx')
    app.connect('doctree-read', lambda app, doctree: addAnchors(
        doctree.findall(desc_signature)))
    app.add_directive('driver', DriverDirective)
    app.add_directive('options', OptionsDirective)
    app.add_directive('abilities', AbilitiesDirective)
    return {'parallel_read_safe': True}
