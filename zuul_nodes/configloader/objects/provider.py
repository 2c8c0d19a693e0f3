"""The provider: the labels that a tenant gets from a section."""

import types

import voluptuous as vs
from zuul import model
import zuul.configloader
from zuul.driver import ProviderInterface

from zuul_nodes import audit
from zuul_nodes.configloader.errors import (
    BoundError,
    SectionError,
    describe,
    explainConnection,
)
from zuul_nodes.configloader.flattening.flatten import Flattening
from zuul_nodes.configloader.flattening.otherdrivers import OtherDrivers
from zuul_nodes.configloader.objects.attributes import recast
from zuul_nodes.configloader.objects.section import getLineage, getSection
from zuul_nodes.configloader.plain import copyStanza, keepReplacing
from zuul_nodes.drivers import bounds


class ProviderConfig(model.ProviderConfig):
    """What a provider stanza says, and what becomes of it."""

    def flattenConfig(self, layout, connections):
        """Combine the stanza with its section and that section's parents.

        :param Layout layout: what the tenant has.
        :param dict connections: name -> connection
        :return: the complete configuration of a provider, a dict; that
            which was good last if this one is in error, and the layout has
            such ones.
        :raises ConfigurationSyntaxError: it can not be used as it is.
        """
        try:
            flattening = self.getFlattening(layout, connections)
            config = flattening.flatten()
            self._checkBounds(
                connections[config['connection']], layout, config)
            self._setInternalAttributes(
                self._withMadeUp(layout, flattening), config,
                flattening.driver.getProviderSchemaClass()())
            flattening.finish(config)
            return config
        except Exception as error:
            # Zuul shows the stanza of the provider whose turn it is, but
            # takes project and branch from the error.
            error.source_context = self.source_context
            last_good = getattr(layout, 'last_good', None)
            config = last_good and last_good.stay(self.canonical_name, error)
            if not config:
                raise
            return config

    def getFlattening(self, layout, connections):
        """
        :param Layout layout: what the tenant has.
        :param dict connections: name -> connection
        :return: the :class:`Flattening` of the provider.
        :raises ConfigurationSyntaxError: its parts do not fit together.
        """
        sections = self.getSections(layout)
        connection = self._getConnection(sections, connections)
        return Flattening(
            self, sections, layout, connection.driver,
            OtherDrivers(layout, connections, connection.driver))

    def _getConnection(self, sections, connections):
        names = [(config_object, name) for config_object in (self, *sections)
                 if (name := config_object.config.get('connection'))]
        if not names:
            raise SectionError(
                f'Neither the {describe(sections[0])} nor one that it '
                f'inherits from has a "connection". Give it one')
        if len(names) > 1:
            raise SectionError(
                f'The {describe(names[0][0])} changes the connection of the '
                f'{describe(names[1][0])}. Take one of them out')
        config_object, name = names[0]
        if name not in connections:
            raise explainConnection(config_object, name, connections)
        connection = connections[name]
        if not isinstance(connection.driver, ProviderInterface):
            raise SectionError(
                f'The {describe(config_object)} has the connection "{name}",'
                f' whose driver {connection.driver.name} has no nodes. Name '
                f'the connection of a cloud')
        return connection

    def _checkBounds(self, connection, layout, config):
        try:
            bounds.check(connection, layout.tenant.name, config)
        except bounds.BoundError as error:
            audit.tell(
                audit.Event.REFUSED, tenant=layout.tenant.name,
                project=self.source_context.project_canonical_name,
                provider=self.canonical_name, reason=error)
            raise BoundError(
                f'The {describe(self)} may not be like that: {error}. Ask '
                'the operator, or name another connection') from None

    def _withMadeUp(self, layout, flattening):
        """:return: what Zuul looks at when it adds its hashes."""
        images, flavors = dict(layout.images), dict(layout.flavors)
        for name in flattening.made_up['image']:
            images[name] = model.Image(name, 'cloud', None)
            images[name].source_context = self.source_context
        for name in flattening.made_up['flavor']:
            flavors[name] = model.Flavor(name, None)
            flavors[name].source_context = self.source_context
        return types.SimpleNamespace(
            images=images, flavors=flavors, labels=layout.labels)

    def getSections(self, layout):
        """
        :return: a list of the section and those it inherits from.
        :raises SectionError: the section can't be used by a provider, or
            one of those it inherits from is missing or inherits from it.
        """
        section = getSection(layout, self.section,
                             f'The provider "{self.name}"')
        if section.abstract:
            raise SectionError(
                f'The provider "{self.name}" is attached to the abstract '
                f'{describe(section)}. Attach it to a section that has '
                f'"{section.name}" for its parent')
        return getLineage(layout, section)


class ProviderParser(zuul.configloader.ProviderParser):

    # Sections have these in their schema.
    schema = zuul.configloader.ProviderParser.schema.extend(
        {'connection': str, 'flavors': [vs.Any(str, dict)]})

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza; it is relieved of what Zuul can't show.
        :return: a :class:`ProviderConfig`.
        """
        conf = copyStanza(conf)
        self.schema(conf)
        provider_config = recast(
            ProviderConfig, keepReplacing(conf, self._fromYaml))
        # It is accepted here, but no driver's schema has it.
        provider_config.config.pop('description', None)
        return provider_config

    def _fromYaml(self, conf):
        # Zuul allows no flavors here.
        flavors = conf.pop('flavors', [])
        provider_config = super().fromYaml(conf)
        provider_config.config['flavors'] = [
            zuul.configloader.dict_with_name(entry) for entry in flavors]
        return provider_config
