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
    SectionGoneError,
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
    """A provider stanza, and the configuration that results from it."""

    def flattenConfig(self, layout, connections):
        """Combine the stanza with its section and that section's parents.

        :param Layout layout: the tenant's objects.
        :param dict connections: name -> connection
        :return: the flat configuration of the provider, a dict.  If the
            provider is in error, this is its last good configuration, where
            the layout keeps such configurations.
        :raises ConfigurationSyntaxError: the provider is in error and has no
            last good configuration.
        """
        last_good = getattr(layout, 'last_good', None)
        try:
            flattening, config = self.combine(layout, connections)
        except Exception as error:
            # Zuul shows the stanza of the provider that it is loading, but
            # takes project and branch from the error.
            error.source_context = self.source_context
            if isinstance(error, BoundError):
                audit.tell(
                    audit.Event.REFUSED, tenant=layout.tenant.name,
                    project=self.source_context.project_canonical_name,
                    provider=self.canonical_name, reason=error.__cause__)
            config = last_good and last_good.keepConfig(
                self, layout, connections, error)
            if not config:
                raise
            return config
        if last_good:
            last_good.remember(flattening, config)
        return config

    def combine(self, layout, connections):
        """Combine the stanza with its section and that section's parents.

        :param layout: the objects of the tenant, as a Layout has them.
        :param dict connections: name -> connection
        :return: the :class:`Flattening`, and the flat configuration.
        :raises ConfigurationSyntaxError: the provider is in error.
        """
        flattening = self.getFlattening(layout, connections)
        config = flattening.flatten()
        self.checkBounds(connections[config['connection']], layout, config)
        self._setInternalAttributes(
            self._withMadeUp(layout, flattening), config,
            flattening.driver.getProviderSchemaClass()())
        flattening.finish(config)
        return flattening, config

    def getFlattening(self, layout, connections):
        """
        :param Layout layout: the tenant's objects.
        :param dict connections: name -> connection
        :return: the :class:`Flattening` of the provider.
        :raises ConfigurationSyntaxError: the parts of the provider do not
            fit together.
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
                f'Neither the {describe(sections[0])} nor a section that it '
                f'inherits from has a "connection". Add one')
        if len(names) > 1:
            raise SectionError(
                f'The {describe(names[0][0])} changes the connection of the '
                f'{describe(names[1][0])}. Remove one of the two')
        config_object, name = names[0]
        if name not in connections:
            raise explainConnection(config_object, name, connections)
        connection = connections[name]
        if not isinstance(connection.driver, ProviderInterface):
            raise SectionError(
                f'The {describe(config_object)} has the connection "{name}",'
                f' whose driver {connection.driver.name} has no nodes. Name '
                f'the connection of a cloud instead')
        return connection

    def checkBounds(self, connection, layout, config):
        """
        :param Connection connection: of the configuration.
        :param layout: the objects of the tenant, as a Layout has them.
        :param dict config: the flat configuration.
        :raises BoundError: the operator does not allow it.
        """
        try:
            bounds.check(connection, layout.tenant.name, config)
        except bounds.BoundError as error:
            raise BoundError(
                f'The {describe(self)} exceeds what the operator allows: '
                f'{error}. Ask the operator, or name another connection'
            ) from error

    def _withMadeUp(self, layout, flattening):
        """:return: the objects that Zuul reads to compute its hashes."""
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
        :return: a list of the section and the sections it inherits from.
        :raises SectionError: the section is abstract, or one of the sections
            is missing or inherits from itself.
        """
        section = getSection(layout, self.section,
                             f'The provider "{self.name}"')
        if section.abstract:
            raise SectionGoneError(
                section.name,
                f'The provider "{self.name}" is attached to the abstract '
                f'{describe(section)}. Attach it to a section whose parent is '
                f'"{section.name}"')
        return getLineage(layout, section)


class ProviderParser(zuul.configloader.ProviderParser):

    # Zuul allows these attributes in sections only.
    schema = zuul.configloader.ProviderParser.schema.extend(
        {'connection': str, 'flavors': [vs.Any(str, dict)]})

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza.  Values that Zuul cannot show in an
            error are removed from it.
        :return: a :class:`ProviderConfig`.
        """
        conf = copyStanza(conf)
        self.schema(conf)
        provider_config = recast(
            ProviderConfig, keepReplacing(conf, self._fromYaml))
        # No driver's schema has a description.
        provider_config.config.pop('description', None)
        return provider_config

    def _fromYaml(self, conf):
        # Zuul's parser does not accept flavors in a provider.
        flavors = conf.pop('flavors', [])
        provider_config = super().fromYaml(conf)
        provider_config.config['flavors'] = [
            zuul.configloader.dict_with_name(entry) for entry in flavors]
        return provider_config
