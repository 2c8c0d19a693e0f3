"""A Sphinx extension that describes options of zuul.conf as Zuul does.

The directive ``zuulconf`` shows the settings of a module as ``zuul:attr``, so
that pages can refer to them: ``:zuul:attr:`launcher.call_timeout```.
"""

import importlib
import inspect
import textwrap

from sphinx.util.docutils import SphinxDirective


class ZuulConfDirective(SphinxDirective):
    required_arguments = 1

    def run(self):
        settings = importlib.import_module(self.arguments[0])
        return self.parse_text_to_nodes('\n'.join(formatSection(settings)))


def formatSection(settings):
    """:return: yields lines of reStructuredText."""
    yield from (f'.. zuul:attr:: {settings.SECTION}', '')
    for field in settings.getOptions():
        yield f'   .. zuul:attr:: {field.name}'
        if default := settings.describeDefault(field):
            yield f'      :default: {default}'
        yield f'      :type: {settings.describeValue(field)}'
        yield ''
        text = inspect.cleandoc(field.metadata['text'])
        yield from textwrap.indent(text, 6 * ' ').splitlines()
        yield ''


def setup(app):
    app.add_directive('zuulconf', ZuulConfDirective)
    return {'parallel_read_safe': True}
