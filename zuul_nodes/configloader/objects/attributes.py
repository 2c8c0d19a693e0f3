"""What images, flavors and labels have in common: attributes.

Zuul's parsers let them have a name and little more.  Here they have
whatever the drivers know of whose providers use them, which only shows
when a provider brings the two together.
"""

import voluptuous as vs

from zuul_nodes.configloader.errors import describe
from zuul_nodes.configloader.flattening.vocabulary import STRUCTURE
from zuul_nodes.configloader.objects.known import findFaults, keepFaults
from zuul_nodes.configloader.plain import MARKS, copyStanza


class WithAttributes:
    """Added to a class of Zuul's model.

    ``attributes`` are those of the stanza, by the names and with the
    values that stand there.
    """

    attributes = {}

    def __eq__(self, other):
        return (super().__eq__(other)
                and self.attributes == other.attributes)

    # As of the class of Zuul's; what is compared can't be hashed.
    __hash__ = None


def openSchema(schema, changes=None):
    """
    :param vs.Schema schema: of one of Zuul's parsers.
    :param dict changes: keys to add or to replace.
    :return: the same, open to any attribute.
    """
    return schema.extend(changes or {}, extra=vs.ALLOW_EXTRA)


def recast(cls, parsed):
    """:return: what a parser of Zuul's has made, as an object of ``cls``,
        a subclass of its class."""
    ours = cls.__new__(cls)
    vars(ours).update(vars(parsed))
    return ours


def parse(cls, parser, fromYaml, conf):
    """
    Attributes with a fault are not Zuul's to parse: it would leave the object
    out.  It stays, so nothing else is in error for the lack of it, and has
    ``faults``.

    :param cls: the class that the object shall have.
    :param parser: with ``pcontext`` and ``schema``.
    :param fromYaml: the method of Zuul's that parses a stanza.
    :param dict conf: the stanza; it is relieved of what Zuul can't show.
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
