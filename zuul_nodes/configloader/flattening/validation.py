"""The flat configuration of a provider against its driver's schemas.

Piece by piece, so that what is wrong can be told by the place where
somebody wrote it.
"""

import string

import voluptuous as vs

from zuul_nodes.configloader.errors import AttributeValueError, describe
from zuul_nodes.configloader.flattening.parts import KINDS, LISTS, RETAIN_LIMIT
from zuul_nodes.configloader.flattening.vocabulary import (
    LABEL_ALONE,
    PROVIDER_ALONE,
)
from zuul_nodes.drivers import LABEL_OF_ANY_DRIVER, addresses

# No message of Zuul's own is longer.
LONGEST = 1000
_LABEL_ALONE = vs.Schema(LABEL_ALONE)
_PROVIDER_ALONE = vs.Schema(PROVIDER_ALONE)
_LABEL_OF_ANY_DRIVER = vs.Schema(LABEL_OF_ANY_DRIVER)


class Validation:
    """
    :param Flattening flattening: whose result is validated.
    :param dict config: the flat configuration.
    """

    def __init__(self, flattening, config):
        self.flattening = flattening
        self.provider_config = flattening.provider_config
        self.parts = flattening.parts
        self.config = config
        self.vocabulary = flattening.vocabulary

    def run(self):
        """:raises AttributeValueError: the driver can't have it like that,
            or something is more than it may be."""
        for kind in KINDS:
            for part in self.config[f'{kind}s']:
                self._check(self.vocabulary.validators[kind], part, kind,
                            part['name'])
        self._checkProvider({}, 'provider', self.provider_config.name)
        self._check(_PROVIDER_ALONE, self.flattening.provider_alone,
                    'provider', self.provider_config.name)
        self._checkLabels()
        for label in self.config['labels']:
            self._checkTags(label)
        for image in self.config['images']:
            self._checkRetainCount(image)
            self._checkAccess(image)

    def _checkProvider(self, changes, kind, name):
        # The lists have been checked.
        self._check(self.vocabulary.provider_schema,
                    self.config | {key: [] for key in LISTS} | changes,
                    kind, name)

    def _checkLabels(self):
        """Check what labels say that is not in their own schema."""
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
        :param str kind: what it is, for the message.
        :raises AttributeValueError: the schema does not hold.
        """
        try:
            schema(config)
        except vs.Invalid as invalid:
            error = getattr(invalid, 'errors', [invalid])[0]
            path = [str(key) for key in error.path]
            # Of what it quotes, no more than one can read.
            what = error.error_message[:LONGEST]
        except (LookupError, TypeError) as error:
            # A schema with alternatives looks at what tells them apart.
            path, what = [str(error).strip("'")], 'can not be checked'
        else:
            return
        # A schema with alternatives may not tell which attribute it is.
        for attribute, value in config.items():
            if (self.vocabulary.knows(attribute) and
                    (fault := self.vocabulary.findFault(attribute, value))):
                path, what = [attribute], fault
                break
        attribute = path[0] if path else None
        if attribute not in (self.vocabulary.known
                             | self.vocabulary.provider):
            # Something about several of them together.
            attribute, path = None, []
        where = ' at ' + '.'.join(path[1:]) if path[1:] else ''
        owner = describe(self.provider_config)
        if kind != 'provider':
            owner = f'{kind} "{name}" of the {owner}'
        raise AttributeValueError(
            f'The {owner} '
            + (f'has a wrong "{attribute}"' if attribute else 'is wrong')
            + f'{where}: {what}. '
            + self._describeOrigins(kind, name, attribute))

    def _checkTags(self, label):
        """Zuul fills tags in by ``str.format``: a width would take all of
        the launcher's memory."""
        for key, value in (label.get('tags') or {}).items():
            if any(spec or conversion or {'.', '['} & set(name)
                   for _, name, spec, conversion in _parse(value)
                   if name is not None):
                raise AttributeValueError(
                    f'The label "{label["name"]}" has a wrong tag "{key}": '
                    f'in braces, only a name such as {{job_name}} is filled '
                    f'in. '
                    + self._describeOrigins('label', label['name'], 'tags'))

    def _checkAccess(self, image):
        """Check how to log in to nodes of an image: it is on command lines
        and in Ansible's inventory."""
        user = image.get('username')
        # Zuul takes these for none.
        if user not in (None, '') and not addresses.isUser(user):
            raise AttributeValueError(
                f'The image "{image["name"]}" has a wrong "username": it has '
                f'to be {addresses.USER_WORDS}. '
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
            return (f'It is set nowhere: set it in the provider, its '
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
    """:return: what ``str.format`` would fill in, a list; empty if it would
        raise."""
    try:
        return list(string.Formatter().parse(template))
    except ValueError:
        return []
