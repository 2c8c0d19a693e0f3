"""The attributes of images, flavors and labels.

Zuul's parsers accept few attributes on these objects.  The parsers here
accept every attribute.  The drivers of the providers that use the object
define which attributes are valid, so a provider checks them when it combines
its parts.
"""

import voluptuous as vs

from zuul_nodes.configloader.errors import describe
from zuul_nodes.configloader.flattening.vocabulary import STRUCTURE
from zuul_nodes.configloader.objects.known import findFaults, keepFaults
from zuul_nodes.configloader.plain import MARKS, copyStanza


class WithAttributes:
    """Mixin that adds attributes to a class of Zuul's model.

    ``attributes`` holds the attributes of the stanza, with names and values
    as written.
    """

    attributes = {}

    def __eq__(self, other):
        return (super().__eq__(other)
                and self.attributes == other.attributes)

    # Zuul's class is not hashable either: it compares by value.
    __hash__ = None


def openSchema(schema, changes=None):
    """Accept any attribute in a stanza.

    :param vs.Schema schema: the schema of one of Zuul's parsers.
    :param dict changes: keys to add or to replace.
    :return: a copy of the schema that allows unknown keys.
    """
    return schema.extend(changes or {}, extra=vs.ALLOW_EXTRA)


def recast(cls, parsed):
    """:return: an object that Zuul's parser made, as an instance of ``cls``,
        a subclass of the object's class."""
    ours = cls.__new__(cls)
    vars(ours).update(vars(parsed))
    return ours


def parse(cls, parser, fromYaml, conf):
    """Parse a stanza and keep its attributes, including invalid ones.

    Zuul's parser would reject the whole object for one invalid attribute, and
    every provider that uses the object would then be in error.  This function
    hides invalid attributes from Zuul's parser and records them as
    ``faults``.

    :param cls: the class of the object to return.
    :param parser: with ``pcontext`` and ``schema``.
    :param fromYaml: Zuul's method that parses a stanza.
    :param dict conf: the stanza.  Values that Zuul cannot show in an error
        are removed from it.
    :return: what the method returns, as an object of ``cls``.
    :raises: ConfigurationSyntaxError, or voluptuous.Invalid.
    """
    conf = copyStanza(conf)
    kind = cls.__name__.lower()
    attributes = {name: value for name, value in conf.items()
                  if name not in STRUCTURE[kind] and name not in MARKS}
    faults = list(findFaults(
        parser.pcontext, kind, attributes, parser.schema.schema))
    wrong = {fault.attribute for fault in faults}
    parsed = recast(cls, fromYaml({
        name: value for name, value in conf.items() if name not in wrong}))
    parsed.attributes = attributes
    keepFaults(parser.pcontext, parsed, f'The {describe(parsed)}', faults)
    return parsed
