"""Options of zuul.conf in reStructuredText."""

import inspect
import textwrap


def formatOptions(settings):
    """
    :param settings: the module :mod:`zuul_nodes.launcher.settings`, or one
        like it.
    :return: yields lines of reStructuredText: each option that operators may
        set, with what it has for a value, its default and what it does.
    """
    for field in settings.getOptions():
        facts = [settings.describeValue(field)]
        if default := settings.describeDefault(field):
            facts.append(f'default ``{default}``')
        yield f'``{field.name}`` ({"; ".join(facts)})'
        text = inspect.cleandoc(field.metadata['text'])
        yield from textwrap.indent(text, '   ').splitlines()
        yield ''
