"""The flat configuration of a provider, as Zuul stores it in ZooKeeper.

It lists images, flavors and labels with their final attributes, and passes
the driver's own schemas.  The attributes that a label sets for its image,
flavor or provider are stored with the label, as :mod:`zuul_nodes.drivers`
describes.
"""

import typing

import voluptuous as vs

from zuul_nodes import madeup
from zuul_nodes.configloader.errors import (
    AttributeValueError,
    UnknownNameError,
    describe,
)
from zuul_nodes.configloader.flattening.parts import Parts
from zuul_nodes.configloader.flattening.precedence import (
    collect,
    combine,
    exclude,
)
from zuul_nodes.configloader.flattening.validation import Validation
from zuul_nodes.configloader.flattening.vocabulary import (
    FINAL,
    LABEL_ALONE,
    LIMITS,
    OF_A_NODE,
    OF_ANY_IMAGE,
    OF_NO_NODE,
    PRIORITY,
    PROVIDER_ALONE,
    ZONES,
    getVocabulary,
)
from zuul_nodes.drivers import DEFAULT_PRIORITY, LABEL_OF_ANY_DRIVER, OWN
from zuul_nodes.suggestions import quote, suggest

LABEL_DEFAULTS = 'label-defaults'
ALL_NODE_LABELS = 'include-all-node-labels'


class Explanation(typing.NamedTuple):
    """The origin of the value of an attribute.

    ``settings``
        [(source, the value it sets)], the weakest first.
    """
    attribute: str
    value: object
    settings: list


def setSectionLimits(config, section, limits):
    """Set the limits that all providers of a section share.

    :param dict config: a flat configuration; changed.
    :param Section section: of the provider.
    :param dict limits: resource -> number; None or empty if there are none.
    """
    for label in config['labels']:
        own = label.pop(OWN, {})
        own.pop('section', None)
        if limits:
            own['section'] = {'name': section.canonical_name,
                              'limits': limits}
        if own:
            label[OWN] = own


class Flattening:
    """Computes the flat configuration of one provider.

    :param ProviderConfig provider_config: the stanza.
    :param list sections: the provider's section and its ancestors.
    :param Layout layout: the tenant's objects.
    :param Driver driver: the driver of the connection.
    :param OtherDrivers others: the other drivers of the tenant.
    :raises ConfigurationSyntaxError: the stanzas cannot be combined.
    """

    def __init__(self, provider_config, sections, layout, driver, others):
        self.provider_config = provider_config
        self.sections = sections
        self.section = sections[0]
        self.layout = layout
        self.driver = driver
        self.vocabulary = getVocabulary(driver.getProviderSchemaClass())
        self.parts = Parts([*reversed(sections), provider_config],
                           layout, self.vocabulary, driver.name, others)
        if hasattr(driver, 'getNodeLabels'):
            self._addNodeLabels()
        # Kind -> made-up name -> (label, flat configuration), for labels
        # without image or flavor.
        self.made_up = {'image': {}, 'flavor': {}}
        # By the name of the label: the attributes that it sets for other
        # parts, and those that no driver's schema has.
        self.own = {}
        self.alone = {}
        # The attributes of the provider that no driver's schema has.
        self.provider_alone = {
            name: value for name, value in self.parts.settings.items()
            if name in PROVIDER_ALONE}

    def flatten(self):
        """
        :return: the flat configuration, a dict, without Zuul's hashes.
        :raises ConfigurationSyntaxError: a driver's schema rejects it.
        """
        images, flavors = (
            {name: self._flattenPart(part)
             for name, part in getattr(self.parts, kind).items()}
            for kind in ('image', 'flavor'))
        labels = [self._flattenLabel(part, images, flavors)
                  for part in self.parts.label.values()]
        config = {**self._getSettings(), 'labels': labels,
                  'images': [*images.values(), *self._getMadeUp('image')],
                  'flavors': [*flavors.values(), *self._getMadeUp('flavor')]}
        Validation(self, config).run()
        for label in labels:
            own = self.own[label['name']]
            if hashed := {name: own[name]
                          for name in own.keys() - OF_NO_NODE}:
                label[OWN] = hashed
        return config

    def finish(self, config):
        """Add attributes that are not part of Zuul's hash of a label.

        A change of these attributes does not replace ready nodes.

        :param dict config: the flat configuration; changed.
        """
        of_provider = {}
        priority = self.provider_alone.get(PRIORITY)
        if priority not in (None, DEFAULT_PRIORITY):
            of_provider[PRIORITY] = priority
        for label in config['labels']:
            label.update(self.alone[label['name']])
            own = self.own[label['name']]
            if added := of_provider | {
                    name: own[name] for name in own.keys() & OF_NO_NODE}:
                label.setdefault(OWN, {}).update(added)
        setSectionLimits(config, self.section,
                         self.parts.section_settings.get(LIMITS))

    def resolve(self, label):
        """Find every setting that applies to the nodes of a label.

        :param Part label: a label of this provider.
        :return: attribute -> [(source, value)], the weakest first.
        """
        image, flavor = (
            getattr(self.parts, kind).get(label.structure.get(kind))
            for kind in ('image', 'flavor'))
        parts = [part for part in (image, flavor, label) if part]
        found = collect([*self.parts.bodies, *(
            source for part in parts for source in part.sources)])
        if any(part.ceiling <= len(self.parts.bodies) for part in parts):
            found = {name: left for name, settings in found.items()
                     if (left := self._underCeiling(name, settings, parts))}
        exclude(found, self.vocabulary.exclusive)
        return found

    def collectPart(self, part):
        """Find the settings of an image or a flavor that all labels share.

        :param Part part: an image or a flavor of this provider.
        :return: attribute -> [(source, value)], the weakest first.
        """
        # Attributes of all nodes stay with the label where labels have them.
        # Otherwise a change of a node's attribute would change the image and
        # cause another upload.
        bodies = [source._replace(attributes={
            name: value for name, value in source.attributes.items()
            if name not in self.vocabulary.label})
            for source in self.parts.bodies if source.depth <= part.ceiling]
        found = collect([*part.sources, *bodies])
        exclude(found, self.vocabulary.exclusive)
        return found

    def explain(self, label_name):
        """Explain where the attributes of a label and its provider come from.

        :param str label_name: a label of this provider.
        :return: a list of :class:`Explanation`, one for each attribute that is
            set for the label's nodes or for the provider.
        :raises UnknownNameError: the provider does not have the label.
        """
        if label_name not in self.parts.label:
            raise UnknownNameError(
                f'The {describe(self.provider_config)} does not have the '
                f'label "{label_name}". '
                f'{suggest(label_name, self.parts.label)}')
        found = self.resolve(self.parts.label[label_name])
        of_provider = {
            name: settings for name, settings
            in collect(self.parts.provider_sources).items()
            if name not in found or name in PROVIDER_ALONE}
        return [Explanation(name, combine(settings), settings)
                for name, settings in sorted(found.items())
                + sorted(of_provider.items())]

    def _underCeiling(self, name, settings, parts):
        """:return: the settings without those that change a final part."""
        depth = min(part.ceiling for part in parts
                    if part.kind == 'label' or (
                        name in getattr(self.vocabulary, part.kind)
                        and name not in self.vocabulary.label))
        return [(source, value) for source, value in settings
                if source.depth <= depth]

    def _addNodeLabels(self):
        """Check the labels of static nodes, and add them if configured."""
        settings = self.parts.settings
        try:
            labels = self.driver.getNodeLabels(settings, aliases=False)
            names = self.driver.getNodeLabels(settings)
        except vs.Invalid as error:
            origins = ' and the '.join(
                describe(source.origin, source.line)
                for source in self.parts.provider_sources
                if 'nodes' in source.attributes)
            raise AttributeValueError(
                f'The {describe(self.provider_config)} has an invalid value '
                f'for "nodes": {error}. It is set by the {origins}') from None
        for name in () if self._isCentral() else labels:
            if name not in self.layout.labels:
                # The first words are those of Zuul's own message.
                raise UnknownNameError(
                    f'Label {quote(name)} is not attached to '
                    f'{describe(self.provider_config)}, which has a node '
                    f'with it: this tenant does not have that label. '
                    f'{suggest(name, self.layout.labels)}')
        if settings.get(ALL_NODE_LABELS):
            for name in names:
                # An alias does not have to be a label of the tenant.
                if name in self.layout.labels:
                    self.parts.addLabel(name)

    def _isCentral(self):
        """:return: whether another project defines the static nodes.

        Such a list serves several tenants.  Each tenant uses the nodes whose
        labels it has.
        """
        own = self.provider_config.source_context.project_canonical_name
        return any(source.origin.source_context.project_canonical_name != own
                   for source in self.parts.provider_sources
                   if 'nodes' in source.attributes)

    def _getSettings(self):
        """:return: the provider's own attributes, as its driver knows them."""
        settings = {name: value for name, value in self.parts.settings.items()
                    if name not in PROVIDER_ALONE}
        if LABEL_DEFAULTS in settings:
            # Each label has these already, and no driver's schema does.
            settings[LABEL_DEFAULTS] = {
                name: value
                for name, value in settings[LABEL_DEFAULTS].items()
                if name not in LABEL_OF_ANY_DRIVER}
            self._takeZones(settings[LABEL_DEFAULTS], f'"{LABEL_DEFAULTS}"')
        return settings

    def _flattenPart(self, part):
        config = self._getStructure(part)
        attributes = self._getAttributes(config, part.kind)
        config.update((name, combine(settings)) for name, settings
                      in self.collectPart(part).items() if name in attributes)
        return config

    def _getStructure(self, part):
        final = {} if part.final is None else {FINAL: part.final}
        return part.structure | final

    def _flattenLabel(self, part, images, flavors):
        values = {name: combine(settings)
                  for name, settings in self.resolve(part).items()}
        # Zuul's own configurations always have aliases, which its hashes
        # include.
        label = self._getStructure(part) | {'aliases': []} | {
            name: value for name, value in values.items()
            if name in self.vocabulary.label}
        self.alone[part.name] = {
            name: label.pop(name) for name in LABEL_ALONE if name in label}
        own = {name: label.pop(name) for name in LABEL_OF_ANY_DRIVER
               if name in label}
        own['zones'] = self._takeZones(label, f'label "{part.name}"')
        for kind, configs in (('image', images), ('flavor', flavors)):
            if not part.structure.get(kind):
                label[kind] = self._makeUp(part, kind, values)
                continue
            config = configs.get(label[kind])
            if config is None:
                self._refuseUnattached(part, kind)
            own[kind] = {
                name: value for name in self._getAttributes(config, kind)
                & values.keys() - self.vocabulary.label - OF_ANY_IMAGE
                if (value := values[name]) != config.get(name, ...)}
        own['provider'] = {
            name: value for name in OF_A_NODE & values.keys()
            if (value := values[name]) != self.parts.settings.get(name, ...)}
        self.own[part.name] = {
            key: value for key, value in own.items()
            if value or value == 0}
        return label

    def _getAttributes(self, config, kind):
        """
        :param dict config: the flat configuration of an image or a flavor.
        :return: the names of the attributes that it may have.
        """
        return getattr(self.vocabulary, config.get('type', kind))

    def _takeZones(self, attributes, owner):
        """Remove a list of several zones, for the launcher to choose one.

        Drivers accept a single zone, so a list of one becomes a string.

        :param dict attributes: of a label, or of all labels; changed.
        :param str owner: the object with the attributes, for the message.
        :return: the list of zones; None if there are not several.
        """
        zones = attributes.get(ZONES)
        if not isinstance(zones, list) or ZONES not in self.vocabulary.label:
            return None
        if not all(isinstance(zone, str) for zone in zones):
            raise AttributeValueError(
                f'The {owner} of the {describe(self.provider_config)} has '
                f'availability zones that are not names')
        del attributes[ZONES]
        zones = list(dict.fromkeys(zones))
        if len(zones) > 1:
            return zones
        attributes.update((ZONES, zone) for zone in zones)
        return None

    def _makeUp(self, part, kind, values):
        """Make up an image or flavor, as Zuul requires both for a label."""
        if getattr(self.driver, 'labels_need_image', True):
            raise UnknownNameError(
                f'The {describe(part.stanza)} has no {kind}, which the '
                f'driver {self.driver.name} of the '
                f'{describe(self.provider_config)} needs. Add one')
        name = madeup.makeName(
            part.name, getattr(self.layout, f'{kind}s'))
        config = {'name': name}
        if kind == 'image':
            config['type'] = 'cloud'
        config.update((key, values[key])
                      for key in self._getAttributes(config, kind)
                      & values.keys() - self.vocabulary.label)
        self.made_up[kind][name] = part, config
        return name

    def _getMadeUp(self, kind):
        return (config for _, config in self.made_up[kind].values())

    def _refuseUnattached(self, part, kind):
        name = part.structure[kind]
        defined = getattr(self.layout, f'{kind}s')
        if name not in defined:
            # A section of another project may list it nevertheless.
            raise UnknownNameError(
                f'The {describe(part.stanza)} needs the {kind} {quote(name)}, '
                f'which the {describe(self.provider_config)} cannot get: this '
                f'tenant does not have that {kind}. {suggest(name, defined)}')
        known = getattr(self.parts, kind)
        raise UnknownNameError(
            f'The {describe(part.stanza)} needs the {kind} {quote(name)}, '
            f'which is not attached to the '
            f'{describe(self.provider_config)}. Add it to "{kind}s" of the '
            f'{describe(self.section)}. {suggest(name, known)}')
