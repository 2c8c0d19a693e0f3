"""Configuration errors, with messages for the people who wrote the file.

Zuul prefixes each message with the project, branch, file and line of the
stanza that it is loading, and quotes the stanza.  The message adds what is
wrong, the location of every other stanza involved, and what would be right.
"""

from zuul.exceptions import ConfigurationSyntaxError

from zuul_nodes.suggestions import quote, suggest


class SectionError(ConfigurationSyntaxError):
    zuul_error_name = 'Section Error'
    zuul_error_problem = 'section error'


class SectionGoneError(SectionError):
    """The tenant does not have a section, or no provider may use it.

    :ivar section_name: the name of the section.
    """

    def __init__(self, section_name, message):
        super().__init__(message)
        self.section_name = section_name


class UnknownNameError(ConfigurationSyntaxError):
    zuul_error_name = 'Unknown Name'
    zuul_error_problem = 'unknown name'


class UnknownConnectionError(ConfigurationSyntaxError):
    # The same name as the error that Zuul raises itself.
    zuul_error_name = 'Unknown Connection'
    zuul_error_problem = 'unknown connection'


class UnknownAttributeError(ConfigurationSyntaxError):
    zuul_error_name = 'Unknown Attribute'
    zuul_error_problem = 'unknown attribute'


class AttributePlaceError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Place'
    zuul_error_problem = 'misplaced attribute'


class AttributeValueError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Value'
    zuul_error_problem = 'invalid attribute value'


class ValueNotAllowedError(ConfigurationSyntaxError):
    zuul_error_name = 'Value Not Allowed'
    zuul_error_problem = 'value that is not allowed'


class BoundError(ConfigurationSyntaxError):
    zuul_error_name = 'Beyond a Bound'
    zuul_error_problem = 'provider outside the bounds that the operator sets'


class SpellingError(ConfigurationSyntaxError):
    zuul_error_name = 'Attribute Given Twice'
    zuul_error_problem = 'attribute given under two names'


class FinalError(ConfigurationSyntaxError):
    zuul_error_name = 'Final'
    zuul_error_problem = 'change to a final definition'


def describe(config_object, line=None):
    """Name a configuration object and its location in git.

    :param config_object: an image, flavor, label, section or provider.
    :param int line: the line in its file to point at, counted from 0; None
        for the first line of the stanza.
    :return: for example ``section "s" (project p, branch b, file f, line 1)``.
    """
    return (f'{getKind(config_object)} "{config_object.name}" '
            f'({describeLocation(config_object, line)})')


def getKind(config_object):
    """:return: the kind as written in git: "image", "provider", ..."""
    return type(config_object).__name__.removesuffix('Config').lower()


def describeLocation(config_object, line=None):
    """:return: project, branch, file and line, as text."""
    return formatLocation(config_object.source_context,
                       getLineNumber(config_object, line))


def formatLocation(context, line_number):
    """Format the location of a stanza.

    :param SourceContext context: the file that contains the stanza.
    :param int line_number: counted from 1, or None if unknown.
    :return: project, branch, file and line, as text.
    """
    line = '' if line_number is None else f', line {line_number}'
    return (f'project {context.project_canonical_name}, branch '
            f'{context.branch}, file {context.path}{line}')


def getLineNumber(config_object, line=None):
    """Convert a line number of Zuul's to one that people count from 1.

    :param int line: a line of the stanza as Zuul counts it, from 0; None
        for the first line of the stanza.
    :return: the number, counted from 1; None if unknown.
    """
    if line is None and config_object.start_mark:
        line = config_object.start_mark.line
    return None if line is None else line + 1


def explainUnknown(subject, kind, name, known):
    """Explain a reference to an object that the tenant does not have.

    :param str subject: the object that contains the reference.
    :param known: the names of the tenant's objects of this kind.
    :return: a sentence with the error, and one with the nearest name.
    """
    return (f'{subject} refers to the {kind} {quote(name)}, which this tenant '
            f'does not have. {suggest(name, known)}')


def explainConnection(config_object, name, connections):
    """Explain a reference to a connection that zuul.conf does not have.

    :param str name: the connection that the object names.
    :param connections: the connections of zuul.conf, by name.
    :return: the UnknownConnectionError to raise.
    """
    return UnknownConnectionError(
        f'The {describe(config_object)} has the connection {quote(name)}, '
        f'which zuul.conf does not have. {suggest(name, connections)}')


def explainMisplaced(name, kind, proper_kinds):
    """Explain that an attribute is set on the wrong kind of object.

    :param str name: the attribute.
    :param str kind: the kind of object that the attribute is set on.
    :param str proper_kinds: the kinds that accept it, in the plural.
    :return: the rest of a sentence that begins with the object.
    """
    here = 'sections and providers' if kind == 'provider' else f'{kind}s'
    return (f'has the attribute "{name}", which belongs to {proper_kinds}, '
            f'not to {here}. Move it there')
