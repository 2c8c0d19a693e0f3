"""Output of the subcommands: a table for people, or JSON."""

import argparse
import json

import prettytable

from zuul_nodes import zuulconf
from zuul_nodes.cmd.common import arguments


def addFormatArgument(parser):
    parser.add_argument(
        '--format', choices=('text', 'json'), default='text',
        help='output format (default: text)')


def addWatchArgument(parser):
    """:param parser: of a command that lists something."""
    parser.add_argument(
        '--watch', type=arguments.seconds, metavar='SECONDS',
        help='repeat the list at this interval until Ctrl-C')


def addListArguments(parser, description):
    """Describe a command that lists something, and add what all of these
    accept.

    :param parser: of the command.
    :param str description: of several paragraphs.
    """
    parser.description = description
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    zuulconf.addConfigArgument(parser)
    addFormatArgument(parser)
    addWatchArgument(parser)


def addCommonArguments(parser, is_list=False):
    """Accept the common arguments after an action as well as before it.

    :param parser: of the action.
    :param bool is_list: whether the action lists something.
    """
    own = argparse.ArgumentParser(add_help=False)
    zuulconf.addConfigArgument(own)
    addFormatArgument(own)
    if is_list:
        addWatchArgument(own)
    for action in own._actions:
        action.default = argparse.SUPPRESS
        parser._add_action(action)


def formatTable(columns, rows, widths=None):
    """
    :param dict widths: column -> maximum width.  With it, lines are wrapped
        and rules separate the rows.
    :return: a left-aligned table, as text.
    """
    table = prettytable.PrettyTable(columns)
    table.align = 'l'
    if widths:
        table.max_width.update(widths)
        table.hrules = prettytable.HRuleStyle.ALL
        # Keep names whole, so that they can be searched for.
        table.break_on_hyphens = False
    table.add_rows(list(rows))
    return table.get_string()


def formatFields(fields):
    """
    :param fields: pairs of a name and a text; without the empty texts.
    :return: a line for each, as text.
    """
    shown = [(name, text) for name, text in fields if text]
    width = max(len(name) for name, _ in shown) + 2
    return '\n'.join(f'{name + ":":{width}}{text}' for name, text in shown)


def formatAge(seconds):
    """:return: a duration in its largest unit, as text."""
    for unit, length in (('d', 86400), ('h', 3600), ('min', 60)):
        if seconds >= 2 * length:
            return f'{seconds // length:.0f} {unit}'
    return f'{max(seconds, 0):.0f} s'


def printDone(output_format, message):
    """Print what a command has changed.

    :param output_format: as :func:`addFormatArgument` adds it.
    :param message: a sentence without its full stop.
    """
    print(formatJSON({'done': message}) if output_format == 'json'
          else f'{message}.')


def formatJSON(data):
    return json.dumps(data, indent=2)
