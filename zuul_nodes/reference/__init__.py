"""The reference of drivers, made of the drivers.

This is an extension of Sphinx.  With ``zuul_nodes.reference`` among the
extensions in ``conf.py``, this shows all that a driver of a package has for
attributes beside those of any driver, whoever has written it; without a
class, it shows these:

.. code-block:: rst

   .. driver:: zuul_nodes.drivers.fake:FakeDriver
      :examples: examples/fake

Each attribute has the lines of ``examples/fake.conf`` and
``examples/fake.yaml``, as seen from ``conf.py``, that have it first.

A table says what the clouds of drivers can do:

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
from zuul_nodes.reference.text import format, formatTable

__all__ = ['format', 'formatOptions', 'getSections', 'setup']


def load(name):
    """:return: the class that "module:Class" names."""
    module, _, name = name.partition(':')
    return getattr(importlib.import_module(module), name)


def setup(app):
    """Called by Sphinx."""
    # It is there while Sphinx runs; not everybody who reads a schema has it.
    from docutils.parsers.rst import directives
    from sphinx.util.docutils import SphinxDirective

    class DriverDirective(SphinxDirective):
        optional_arguments = 1
        option_spec = {'examples': directives.unchanged_required}

        def run(self):
            driver_class = load(self.arguments[0]) if self.arguments else None
            found = self.readExamples()
            lines = []
            for kind, attributes in getSections(driver_class):
                if attributes:
                    lines += [f'.. rubric:: Attributes of {kind}', '',
                              *format(attributes, found.get(kind)), '']
            return self.parse_text_to_nodes('\n'.join(lines))

        def readExamples(self):
            if 'examples' not in self.options:
                return {}
            path = pathlib.Path(self.env.srcdir, self.options['examples'])
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

    app.add_directive('driver', DriverDirective)
    app.add_directive('options', OptionsDirective)
    app.add_directive('abilities', AbilitiesDirective)
    return {'parallel_read_safe': True}
