"""The provider: the labels that a tenant gets from a section."""

from zuul import model
import zuul.configloader

from zuul_nodes.configloader.errors import (
    SectionError,
    UnknownNameError,
    describe,
    suggest,
)


class ProviderConfig(model.ProviderConfig):
    """What a provider stanza says, and what becomes of it."""

    def flattenConfig(self, layout, connections):
        """Combine the stanza with its section and that section's parents.

        :param Layout layout: what the tenant has.
        :param dict connections: name -> connection
        :return: the complete configuration of a provider, a dict.
        :raises ConfigurationSyntaxError: it can not be used as it is.
        """
        try:
            sections = self.getSections(layout)
            for config_object in (self, *sections):
                _checkNames(config_object, layout)
            return super().flattenConfig(layout, connections)
        except Exception as error:
            # Zuul shows the stanza of the provider whose turn it is, but
            # takes project and branch from the error.
            error.source_context = self.source_context
            raise

    def getSections(self, layout):
        """
        :return: a list of the section and those it inherits from.
        :raises SectionError: the section can't be used by a provider, or
            one of those it inherits from is missing or inherits from it.
        """
        section = _getSection(layout, self.section,
                              f'The provider "{self.name}"')
        if section.abstract:
            raise SectionError(
                f'The provider "{self.name}" is attached to the abstract '
                f'{describe(section)}. Attach it to a section that has '
                f'"{section.name}" for its parent')
        seen = [section]
        while section.parent:
            section = _getSection(layout, section.parent,
                                  f'The {describe(section)}')
            if section in seen:
                path = ' -> '.join(
                    f'"{each.name}"' for each in [*seen, section])
                raise SectionError(
                    f'The {describe(section)} inherits from itself: {path}. '
                    f'Take the parent from one of them')
            seen.append(section)
        return seen


def _getSection(layout, name, who):
    """:param str who: who refers to it."""
    try:
        return layout.sections[name]
    except KeyError:
        raise SectionError(
            f'{who} refers to the section "{name}", which this tenant does '
            f'not have. {suggest(name, layout.sections)}') from None


def _checkNames(config_object, layout):
    """
    :param config_object: a provider or a section.
    :raises UnknownNameError: it has an entry for an image, a flavor or a
        label that the tenant does not have.
    """
    for kind in ('image', 'flavor', 'label'):
        known = getattr(layout, f'{kind}s')
        for entry in config_object.config.get(f'{kind}s', []):
            name = entry.get('name')
            if not isinstance(name, str):
                raise UnknownNameError(
                    f'The {describe(config_object)} has an entry in '
                    f'"{kind}s" without the name of a {kind}')
            if name not in known:
                raise UnknownNameError(
                    f'The {describe(config_object)} refers to the {kind} '
                    f'"{name}", which this tenant does not have. '
                    f'{suggest(name, known)}')


class ProviderParser(zuul.configloader.ProviderParser):

    def fromYaml(self, conf):
        """:param dict conf: the stanza; changed as Zuul's parser does.

        :return: a :class:`ProviderConfig`.
        """
        parsed = super().fromYaml(conf)
        provider_config = ProviderConfig(parsed.name, parsed.section)
        vars(provider_config).update(vars(parsed))
        # It is accepted here, but no driver's schema has it.
        provider_config.config.pop('description', None)
        return provider_config
