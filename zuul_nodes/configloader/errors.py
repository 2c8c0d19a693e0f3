"""Errors in what people write, as Zuul shows them.

Zuul adds the project, branch, file and line of the stanza that it is
dealing with, and a picture of it.  The message says the rest: what is
wrong, where else one has to look, and what would be right.
"""

import difflib

from zuul.exceptions import ConfigurationSyntaxError


class SectionError(ConfigurationSyntaxError):
    zuul_error_name = 'Section Error'
    zuul_error_problem = 'section error'


class UnknownNameError(ConfigurationSyntaxError):
    zuul_error_name = 'Unknown Name'
    zuul_error_problem = 'unknown name'


def describe(config_object):
    """:return: a provider or a section, with its place in git."""
    kind = type(config_object).__name__.removesuffix('Config').lower()
    context = config_object.source_context
    mark = config_object.start_mark
    line = f', line {mark.line + 1}' if mark else ''
    return (f'{kind} "{config_object.name}" (project '
            f'{context.project_canonical_name}, branch {context.branch}, '
            f'file {context.path}{line})')


def suggest(name, known):
    """:return: a sentence with the known name that was probably meant, or
        with what names there are."""
    near = difflib.get_close_matches(str(name), known, 1)
    if near:
        return f'Did you mean "{near[0]}"?'
    if not known:
        return 'There are none.'
    return 'There are: ' + ', '.join(f'"{name}"' for name in sorted(known))
