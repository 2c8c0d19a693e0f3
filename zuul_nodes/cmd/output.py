"""How every subcommand prints a table: for people, or as JSON."""

import json

import prettytable


def addFormatArgument(parser):
    parser.add_argument(
        '--format', choices=('text', 'json'), default='text',
        help='how to print the result')


def formatTable(columns, rows):
    """:return: the rows as a table for people, left aligned."""
    table = prettytable.PrettyTable(columns)
    table.align = 'l'
    table.add_rows(rows)
    return table.get_string()


def formatJSON(data):
    return json.dumps(data, indent=2)
