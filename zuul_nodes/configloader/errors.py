"""Errors in what people write, as Zuul shows them.

Zuul adds the project, branch, file and line of the stanza that it is
dealing with, and a picture of it.  The message says the rest: what is
wrong, where else one has to look, and what would be right.
"""

import difflib

from zuul.exceptions import ConfigurationSyntaxError

# More names than that help nobody.
MANY = 20
# Nor do longer ones, and there are none.
LONG = 250


class SectionError(ConfigurationSyntaxError):
    zuul_error_name = 'Section Error'
    zuul_error_problem = 'section error'


class UnknownNameError(ConfigurationSyntaxError):
    zuul_error_name = 'Unknown Name'
    zuul_error_problem = 'unknown name'


class UnknownConnectionError(ConfigurationSyntaxError):
    # As Zuul calls its own.
    zuul_error_name = 'Unknown Connection'
    zuul_error_problem = 'unknown connection'


class UnknownAttributeError(ConfigurationSyntaxError):
    zuul_error_name = 'Unknown Attribute'
    zuul_error_problem = 'unknown attribute'


class AttributeValueError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Value'
    zuul_error_problem = 'attribute with a value that can not be'


class ValueNotAllowedError(ConfigurationSyntaxError):
    zuul_error_name = 'Value Not Allowed'
    zuul_error_problem = 'value that is not allowed'


class SpellingError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Given Twice'
    zuul_error_problem = 'attribute that is given twice'


class FinalError(ConfigurationSyntaxError):
    zuul_error_name = 'Final'
    zuul_error_problem = 'change of something final'


def describe(config_object):
    """
    :param config_object: an image, flavor, label, section or provider.
    :return: what it is, with its place in git.
    """
    kind = type(config_object).__name__.removesuffix('Config').lower()
    return (f'{kind} "{config_object.name}" '
            f'({describePlace(config_object)})')


def describePlace(config_object):
    """:return: project, branch, file and line, in words."""
    context = config_object.source_context
    mark = config_object.start_mark
    line = f', line {mark.line + 1}' if mark else ''
    return (f'project {context.project_canonical_name}, branch '
            f'{context.branch}, file {context.path}{line}')


def quote(name):
    """:return: a name that may not be one, for a message."""
    return f'"{name[:LONG]}..."' if len(name) > LONG else f'"{name}"'


def suggest(name, known):
    """:return: a sentence with the known name that was probably meant, or
        with what names there are."""
    near = difflib.get_close_matches(str(name), known, 1)
    if near:
        return f'Did you mean "{near[0]}"?'
    if not known:
        return 'There are none.'
    names = [f'"{name}"' for name in sorted(known)]
    if len(names) > MANY:
        names[MANY:] = [f'and {len(names) - MANY} more']
    return 'There are: ' + ', '.join(names)
