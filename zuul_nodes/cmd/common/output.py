"""Output of the subcommands: a table for people, or JSON."""

import json

import prettytable


def addFormatArgument(parser):
    parser.add_argument(
        '--format', choices=('text', 'json'), default='text',
        help='output format (default: %(default)s)')


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
    table.add_rows(rows)
    return table.get_string()


def formatJSON(data):
    return json.dumps(data, indent=2)
