"""Errors in what people write, as Zuul shows them.

Zuul adds the project, branch, file and line of the stanza that it is
dealing with, and a picture of it.  The message says the rest: what is
wrong, where else one has to look, and what would be right.
"""

from zuul.exceptions import ConfigurationSyntaxError

from zuul_nodes.suggestions import quote, suggest


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


class AttributePlaceError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Place'
    zuul_error_problem = 'attribute at an object that can not have it'


class AttributeValueError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Value'
    zuul_error_problem = 'attribute with a value that can not be'


class ValueNotAllowedError(ConfigurationSyntaxError):
    zuul_error_name = 'Value Not Allowed'
    zuul_error_problem = 'value that is not allowed'


class BoundError(ConfigurationSyntaxError):
    zuul_error_name = 'Beyond a Bound'
    zuul_error_problem = 'provider that is more than the operator allows'


class SpellingError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Given Twice'
    zuul_error_problem = 'attribute that is given twice'


class FinalError(ConfigurationSyntaxError):
    zuul_error_name = 'Final'
    zuul_error_problem = 'change of something final'


def describe(config_object, line=None):
    """
    :param config_object: an image, flavor, label, section or provider.
    :param int line: where in its file to look, from 0; it begins there if
        None.
    :return: what it is, with its place in git.
    """
    return (f'{getKind(config_object)} "{config_object.name}" '
            f'({describePlace(config_object, line)})')


def getKind(config_object):
    """:return: what it is called in git: "image", "provider", ..."""
    return type(config_object).__name__.removesuffix('Config').lower()


def describePlace(config_object, line=None):
    """:return: project, branch, file and line, in words."""
    return formatPlace(config_object.source_context,
                       getLineNumber(config_object, line))


def formatPlace(context, line_number):
    """
    :param SourceContext context: of a stanza.
    :param int line_number: counted from 1, or None if not known.
    :return: project, branch, file and line, in words.
    """
    line = '' if line_number is None else f', line {line_number}'
    return (f'project {context.project_canonical_name}, branch '
            f'{context.branch}, file {context.path}{line}')


def getLineNumber(config_object, line=None):
    """
    :param int line: within the stanza, as Zuul counts: from 0; where the
        stanza begins if None.
    :return: the number, counted from 1; None if it is not known.
    """
    if line is None and config_object.start_mark:
        line = config_object.start_mark.line
    return None if line is None else line + 1


def explainUnknown(who, kind, name, known):
    """
    :param str who: refers to something that is not there.
    :param known: the names of what there is of that kind.
    :return: a sentence that says so, and one with what would be right.
    """
    return (f'{who} refers to the {kind} {quote(name)}, which this tenant '
            f'does not have. {suggest(name, known)}')


def explainConnection(config_object, name, connections):
    """
    :param str name: of the connection that the object has.
    :param connections: those of zuul.conf, by name.
    :return: the UnknownConnectionError to raise.
    """
    return UnknownConnectionError(
        f'The {describe(config_object)} has the connection {quote(name)}, '
        f'which zuul.conf does not have. {suggest(name, connections)}')


def explainPlace(name, kind, place):
    """
    :param str name: of an attribute.
    :param str kind: of the object that it stands at.
    :param str place: what it belongs to, in the plural.
    :return: what to tell of it, once it has been said whose it is.
    """
    here = 'sections and providers' if kind == 'provider' else f'{kind}s'
    return (f'has the attribute "{name}", which belongs to {place}, not to '
            f'{here}. Move it there')
