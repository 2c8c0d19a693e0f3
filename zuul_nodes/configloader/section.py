"""The section: a part of a cloud, or a list of static nodes."""

import voluptuous as vs
import zuul.configloader

from zuul_nodes.configloader.plain import copyStanza

# What "connection: null" stands for.  The static driver has a connection
# of this name wherever providers are dealt with, whatever zuul.conf says.
NULL_CONNECTION = 'null'


class SectionParser(zuul.configloader.SectionParser):
    """Parses a section, also one without a connection.

    Static nodes "are configured on a section with a null connection"
    (specification, "Configuration").
    """

    schema = zuul.configloader.SectionParser.schema.extend(
        {'connection': vs.Any(str, None)})

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza; it is relieved of what Zuul can't show.
        :return: a :class:`zuul.model.Section`.
        """
        conf = copyStanza(conf)
        if conf.get('connection', ...) is None:
            conf['connection'] = NULL_CONNECTION
        section = super().fromYaml(conf)
        # It is accepted here, but no driver's schema has it.
        section.config.pop('description', None)
        return section
