"""What images, flavors and labels have in common: attributes.

Zuul's parsers let them have a name and little more.  Here they have
whatever the drivers know of whose providers use them, which only shows
when a provider brings the two together.
"""

import voluptuous as vs

from zuul_nodes.configloader.plain import MARKS, copyStanza
from zuul_nodes.configloader.vocabulary import STRUCTURE


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


def parse(cls, parser, conf):
    """
    :param cls: the class that the object shall have.
    :param parser: a method of Zuul's that parses a stanza.
    :param dict conf: the stanza.
    :return: what the parser returns, as an object of ``cls``.
    :raises: ConfigurationSyntaxError, or voluptuous.Invalid.
    """
    conf = copyStanza(conf)
    parsed = recast(cls, parser(conf))
    structure = STRUCTURE[cls.__name__.lower()]
    parsed.attributes = {name: value for name, value in conf.items()
                         if name not in structure and name not in MARKS}
    return parsed
