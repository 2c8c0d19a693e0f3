"""How every subcommand prints a table: for people, or as JSON."""

import json

import prettytable


def addFormatArgument(parser):
    parser.add_argument(
        '--format', choices=('text', 'json'), default='text',
        help='how to print the result')


def formatTable(columns, rows, widths=None):
    """
    :param dict widths: column -> how wide it may get, if there is a limit;
        lines are broken and rows are told apart by rules then.
    :return: the rows as a table for people, left aligned.
    """
    table = prettytable.PrettyTable(columns)
    table.align = 'l'
    if widths:
        table.max_width.update(widths)
        table.hrules = prettytable.HRuleStyle.ALL
        # Names are to be found again as they are written.
        table.break_on_hyphens = False
    table.add_rows(rows)
    return table.get_string()


def formatJSON(data):
    return json.dumps(data, indent=2)
