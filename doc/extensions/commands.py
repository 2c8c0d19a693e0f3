"""A Sphinx extension that generates the reference of ``zuul-nodes``.

The directive ``commands`` describes each subcommand with its actions,
arguments and options, as their parsers have them.
"""

import argparse
import textwrap

from sphinx.util.docutils import SphinxDirective

from zuul_nodes import cmd

UNDERLINES = '-~'


class CommandsDirective(SphinxDirective):

    def run(self):
        text = '\n'.join(
            line for name in sorted(cmd.SUBCOMMANDS)
            for line in formatCommand(
                f'zuul-nodes {name}', getParser(name), 0))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def getParser(name):
    """:return: the parser of a subcommand."""
    return getActions(cmd.createParser(name)).choices[name]


def getActions(parser):
    """:return: the argparse action with the parsers of actions, or None."""
    return next((action for action in parser._actions
                 if isinstance(action, argparse._SubParsersAction)), None)


def formatCommand(title, parser, level):
    """:return: yields lines of reStructuredText."""
    yield from (title, UNDERLINES[level] * len(title), '')
    yield from (f'.. program:: {title}', '')
    yield from formatText(parser.description)
    actions = getActions(parser)
    for action in parser._actions:
        if action is not actions and not isinstance(
                action, argparse._HelpAction):
            yield from formatArgument(action)
    yield from formatText(parser.epilog)
    if actions:
        for name, child in actions.choices.items():
            yield from formatCommand(f'{title} {name}', child, level + 1)


def formatText(text):
    """:return: yields the lines of a description.  What is indented there,
        or follows a line such as "exit status:", is shown as it is."""
    for paragraph in (text or '').strip().split('\n\n'):
        lines = textwrap.dedent(paragraph).splitlines()
        if paragraph.startswith('  ') or any(
                line.startswith('  ') for line in lines):
            yield from ('.. code-block:: text', '')
            yield from textwrap.indent('\n'.join(lines), '   ').splitlines()
        else:
            yield from (line.replace('*', r'\*') for line in lines)
        yield ''


def formatArgument(action):
    """:return: yields the description of an argument or an option."""
    value = action.metavar or (
        f'{{{",".join(map(str, action.choices))}}}' if action.choices
        else action.dest.upper() if action.option_strings else action.dest)
    takes_value = action.nargs != 0
    if action.option_strings:
        names = ', '.join(
            f'{name} {value}' if takes_value else name
            for name in action.option_strings)
    else:
        names = value if isinstance(value, str) else action.dest
    yield from (f'.. option:: {names}', '')
    values = {'default': None, **vars(action)}
    values['default'] = (
        None if action.default is argparse.SUPPRESS else action.default)
    help_text = (action.help or '') % values
    yield from textwrap.indent(
        help_text.replace('*', r'\*'), '   ').splitlines()
    yield ''


def setup(app):
    app.add_directive('commands', CommandsDirective)
    return {'parallel_read_safe': True}
