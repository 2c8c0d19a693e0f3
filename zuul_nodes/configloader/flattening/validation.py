"""Validation of a flat configuration against its driver's schemas.

The schemas are applied to one part at a time, so that an error can name the
stanza that sets the value.
"""

import string

import voluptuous as vs

from zuul_nodes.configloader.errors import AttributeValueError, describe
from zuul_nodes.configloader.flattening.parts import KINDS, LISTS, RETAIN_LIMIT
from zuul_nodes.configloader.flattening.vocabulary import (
    ITEM,
    LABEL_ALONE,
    LIMITS,
    PROVIDER_ALONE,
)
from zuul_nodes.drivers import LABEL_OF_ANY_DRIVER, addresses

# Characters; no message of Zuul's own is longer.
LONGEST = 1000
_LABEL_ALONE = vs.Schema(LABEL_ALONE)
_PROVIDER_ALONE = vs.Schema(PROVIDER_ALONE)
_LABEL_OF_ANY_DRIVER = vs.Schema(LABEL_OF_ANY_DRIVER)


class Validation:
    """
    :param Flattening flattening: the computation to validate.
    :param dict config: its result, the flat configuration.
    """

    def __init__(self, flattening, config):
        self.flattening = flattening
        self.provider_config = flattening.provider_config
        self.parts = flattening.parts
        self.config = config
        self.vocabulary = flattening.vocabulary

    def run(self):
        """Check the whole configuration.

        :raises AttributeValueError: the driver's schema rejects a value, or a
            value exceeds its limit.
        """
        for kind in KINDS:
            for part in self.config[f'{kind}s']:
                self._check(self.vocabulary.validators[kind], part, kind,
                            part['name'])
        # The limits of the section count even if the provider replaces them.
        for settings in ({}, self.parts.section_settings):
            self._checkProvider(
                {name: settings[name] for name in {LIMITS} & settings.keys()},
                'provider', self.provider_config.name)
        self._check(_PROVIDER_ALONE, self.flattening.provider_alone,
                    'provider', self.provider_config.name)
        self._checkLabels()
        for label in self.config['labels']:
            self._checkTags(label)
        for image in self.config['images']:
            self._checkRetainCount(image)
            self._checkAccess(image)

    def _checkProvider(self, changes, kind, name):
        # The lists have been checked part by part.
        self._check(self.vocabulary.provider_schema,
                    self.config | {key: [] for key in LISTS} | changes,
                    kind, name)

    def _checkLabels(self):
        """Check the attributes of labels that no label schema contains."""
        configs = {kind: {part['name']: part for part
                          in self.config[f'{kind}s']}
                   for kind in ('image', 'flavor')}
        for name, own in self.flattening.own.items():
            for kind in own.keys() & configs.keys():
                part = configs[kind][self.parts.label[name].structure[kind]]
                self._check(self.vocabulary.validators[kind],
                            part | own[kind], 'label', name)
            self._check(_LABEL_OF_ANY_DRIVER, {
                key: own[key] for key in LABEL_OF_ANY_DRIVER if key in own},
                'label', name)
            if 'provider' in own:
                self._checkProvider(own['provider'], 'label', name)
        for name, alone in self.flattening.alone.items():
            self._check(_LABEL_ALONE, alone, 'label', name)

    def _check(self, schema, config, kind, name):
        """
        :param str kind: the kind of object, for the message.
        :raises AttributeValueError: the schema rejects the configuration.
        """
        try:
            schema(config)
        except vs.Invalid as invalid:
            error = getattr(invalid, 'errors', [invalid])[0]
            path = [str(key) for key in error.path]
            # The schema may quote a long value.
            what = error.error_message[:LONGEST]
        except (LookupError, TypeError) as error:
            # A schema with alternatives reads the keys that distinguish them.
            path, what = [str(error).strip("'")], 'the driver cannot check it'
        else:
            return
        # A schema with alternatives may not name the invalid attribute.
        for attribute, value in config.items():
            if (self.vocabulary.knows(attribute) and
                    (fault := self.vocabulary.findFault(attribute, value))):
                path, what = [attribute], fault
                if item := ITEM.search(fault):
                    path, what = [attribute, item[1]], fault[:item.start()]
                break
        attribute = path[0] if path else None
        if attribute not in (self.vocabulary.known
                             | self.vocabulary.provider):
            # The error concerns several attributes together.
            attribute, path = None, []
        where = ' at ' + '.'.join(path[1:]) if path[1:] else ''
        owner = describe(self.provider_config)
        if kind != 'provider':
            owner = f'{kind} "{name}" of the {owner}'
        raise AttributeValueError(
            f'The {owner} '
            + (f'has an invalid value for "{attribute}"' if attribute
               else 'is invalid')
            + f'{where}: {what}{"" if what.endswith("?") else "."} '
            + self._describeOrigins(kind, name, attribute))

    def _checkTags(self, label):
        """Reject tags that use more of ``str.format`` than names.

        Zuul formats tags with ``str.format``, and a large width would exhaust
        the launcher's memory.
        """
        for key, value in (label.get('tags') or {}).items():
            if any(spec or conversion or {'.', '['} & set(name)
                   for _, name, spec, conversion in _parse(value)
                   if name is not None):
                raise AttributeValueError(
                    f'The label "{label["name"]}" has an invalid value for '
                    f'the tag "{key}": braces may contain only a name such '
                    f'as {{job_name}}. '
                    + self._describeOrigins('label', label['name'], 'tags'))

    def _checkAccess(self, image):
        """Check the user name for nodes of an image.

        The name is used on command lines and in Ansible's inventory.
        """
        user = image.get('username')
        # Zuul treats both as no user name.
        if user not in (None, '') and not addresses.isUser(user):
            raise AttributeValueError(
                f'The image "{image["name"]}" has an invalid value for '
                f'"username": it must be {addresses.USER_WORDS}. '
                + self._describeOrigins('image', image['name'], 'username'))

    def _checkRetainCount(self, image):
        count = image.get('retain-count')
        limit = image.get(RETAIN_LIMIT)
        if None not in (count, limit) and count > limit:
            raise AttributeValueError(
                f'The image "{image["name"]}" has a "retain-count" of '
                f'{count}, but its "{RETAIN_LIMIT}" is {limit}. ' +
                self._describeOrigins('image', image['name'],
                                      'retain-count'))

    def _describeOrigins(self, kind, name, attribute):
        """:return: a sentence that says where an attribute is set."""
        if attribute is None:
            return f'See the stanza of the {kind} and the entries for it'
        sources = self._getSources(kind, name, attribute)
        if not sources:
            return (f'No stanza sets it: set it in the provider, its '
                    f'section or the stanza of the {kind}')
        return 'It is set by the ' + ' and the '.join(
            describe(source.origin, source.line) for source in sources)

    def _getSources(self, kind, name, attribute):
        if kind == 'provider':
            return [source for source in self.parts.provider_sources
                    if attribute in source.attributes]
        if kind != 'label' and name in self.flattening.made_up[kind]:
            part, _ = self.flattening.made_up[kind][name]
        else:
            part = getattr(self.parts, kind)[name]
        found = (self.flattening.resolve(part) if part.kind == 'label'
                 else self.flattening.collectPart(part))
        return [source for source, _ in found.get(attribute, [])]


def _parse(template):
    """:return: a list of the fields that ``str.format`` would fill in; empty
        if it would raise."""
    try:
        return list(string.Formatter().parse(template))
    except ValueError:
        return []
