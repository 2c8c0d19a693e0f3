"""Vocabulary: the attributes that a driver knows, read from its schemas."""

import collections
import functools
import hashlib
import re

import voluptuous as vs

from zuul_nodes.configloader.flattening.spellings import getSpellings
from zuul_nodes.drivers import (
    LABEL_OF_ANY_DRIVER,
    REQUEST_TIMEOUT,
    beStrict,
    beStrictOf,
)
from zuul_nodes.readytimes import MIN_READY_TIMES

# The keys that identify an object, as opposed to its attributes.
STRUCTURE = {
    'image': frozenset({'name', 'description', 'type'}),
    'flavor': frozenset({'name', 'description'}),
    'label': frozenset({'name', 'description', 'image', 'flavor'}),
}
FINAL = 'final'
ZONES = 'az'
LIMITS = 'resource-limits'


def show(value):
    """:return: a value as it is written, for a message."""
    if isinstance(value, str | int | float):
        return f'{value!r:.40}'
    return 'null' if value is None else f'a {type(value).__name__}'


# Zuul reads these from the label's stanza only.  No driver's schema has them,
# but Zuul's records do.
LABEL_ALONE = beStrict({'min-ready': vs.Any(None, int),
                        'max-nodes': vs.Any(None, int)})


def _checkPriority(value):
    # A boolean is an integer to Python, and to voluptuous.
    if value is not None and (type(value) is not int or value < 0):
        raise vs.Invalid('expected an integer, 0 or more')
    return value


PRIORITY = 'priority'
# Attributes of provider and section stanzas with any driver, though no
# driver's schema has them.  In these stanzas, the name always means the
# provider's attribute: flavors of Azure have another "priority".
PROVIDER_ALONE = {PRIORITY: _checkPriority}
# Attributes of a provider that a label may set as well.
OF_A_NODE = frozenset({'launch-timeout'})
# Attributes of a label that concern no node: a change replaces none.
OF_NO_NODE = frozenset({REQUEST_TIMEOUT, MIN_READY_TIMES})
# Ends the message about one item of a list: names the item.
ITEM = re.compile(r' at (\S+)\Z')
# The number of valid parts of each kind that a validator remembers.
REMEMBERED = 10_000
# Zuul accepts these on the stanza of any image.
OF_ANY_IMAGE = frozenset({'retain-count', 'max-retain-count'})
# Zuul accepts these on cloud images, too, though only uploads use them.
OF_UPLOADS = frozenset({'import-timeout'})
# Several labels that share these would be the same label.
OF_ONE_LABEL = frozenset({'aliases'})


@functools.cache
def getVocabulary(schema_class):
    """
    :param schema_class: a driver's subclass of
        :class:`zuul.provider.BaseProviderSchema`.
    :return: its :class:`Vocabulary`.
    """
    return Vocabulary(schema_class())


class Vocabulary:
    """The attributes that a driver knows.

    ``label``, ``flavor``, ``cloud``, ``zuul``
        the attributes of a label, a flavor and the two types of image: sets
        of names.
    ``image``
        the attributes of either type of image.
    ``known``
        all of these.
    ``uploads``
        the attributes of uploaded images that are not attributes of nodes.
    ``provider``
        the attributes of a provider.
    ``provider_schema``
        the schema of a provider.  Zuul makes a new one on every call.
    ``validators``
        kind -> :class:`Validator`, which raises if a part is invalid.
    ``inheritable``
        kind or type -> the attributes that ``<kind>-defaults`` may set.
    ``spellings``
        alias -> the name that the driver knows.
    ``exclusive``
        sets of attributes of which one may be set.
    """

    def __init__(self, schema):
        images, flavors, labels = (
            schema.getImageSchema(), schema.getFlavorSchema(),
            schema.getLabelSchema())
        self.validators = {'image': Validator(beStrict(images)),
                           'flavor': Validator(beStrict(flavors)),
                           'label': Validator(beStrict(labels))}
        self.label = (_attributes('label', labels) | LABEL_ALONE.keys()
                      | LABEL_OF_ANY_DRIVER.keys())
        self.flavor = _attributes('flavor', flavors)
        self.cloud, self.zuul = (
            _attributes('image', selectType(images, image_type))
            for image_type in ('cloud', 'zuul'))
        self.image = self.cloud | self.zuul
        self.uploads = ((self.zuul - self.cloud | self.image & OF_UPLOADS)
                        - self.label - self.flavor)
        self.provider_schema = beStrict(schema.getProviderSchema())
        self.provider = frozenset(
            name for name in _keys(self.provider_schema)
            if not name.startswith('_')) | PROVIDER_ALONE.keys()
        self.inheritable = {
            'label': (_keys(schema.getInheritableLabelSchema())
                      | LABEL_OF_ANY_DRIVER.keys()),
            'flavor': _keys(schema.getInheritableFlavorSchema()),
            'cloud': _keys(schema.getInheritableCloudImageSchema()),
            'zuul': _keys(schema.getInheritableZuulImageSchema()),
            'image': _keys(schema.getInheritableImageSchema()),
        }
        self.known = (self.label | self.flavor | self.image
                      | (OF_A_NODE & self.provider))
        self.spellings = getSpellings(self.known | self.provider)
        self._schemas = _getSchemas(
            [labels, flavors, images, self.provider_schema])
        self.exclusive = [
            group for validator in self.validators.values()
            for group in _exclusiveGroups(validator.schema)]

    def knows(self, name):
        """:return: whether the driver has an attribute, under any of its names
            and on any kind of object."""
        return (name in self.known or name in self.provider
                or name in self.spellings)

    def findProperKinds(self, name, kind):
        """
        :param str name: an attribute that the driver knows.
        :param str kind: the kind of object that the attribute is set on.
        :return: the kinds that accept it, in the plural; None if this kind
            does.
        """
        name = self.spellings.get(name, name)
        if name not in self.known:
            return None if kind == 'provider' else 'sections and providers'
        if name in self.uploads and kind in ('flavor', 'label'):
            return 'images'
        if name in OF_ONE_LABEL and kind != 'label':
            return 'labels'
        return None

    def findFault(self, name, value):
        """
        :param str name: an attribute that the driver knows.
        :param value: as written, on any object.
        :return: the mistake in the value, or None.
        """
        name = self.spellings.get(name, name)
        if name == ZONES and isinstance(value, list):
            # The launcher chooses one zone for a driver that accepts one.
            return next(filter(None, (
                self.findFault(name, zone) for zone in value)), None)
        return findFaultOfAll(findFault(schema, value)
                              for schema in self._schemas.get(name, ()))


class Validator:
    """A schema that remembers the parts that it has accepted.

    Providers of one cloud have many parts in common, and the schemas take
    most of the time of loading.
    """

    def __init__(self, schema):
        self.schema = schema
        # Hashes, because parts may be long.
        self.right = set()

    def __call__(self, part):
        """
        :param dict part: a part of a flat configuration.
        :raises: what the schema raises.
        """
        digest = hashlib.sha256(repr(part).encode()).digest()
        if digest not in self.right:
            self.schema(part)
            if len(self.right) >= REMEMBERED:
                self.right.clear()
            self.right.add(digest)


def _getSchemas(schemas):
    """:return: name of an attribute -> its schemas, those of labels first."""
    found = collections.defaultdict(list)
    for schema in schemas:
        for alternative in getAlternatives(schema):
            for key, value in alternative.items():
                if isinstance(getName(key), str):
                    found[getName(key)].append(
                        vs.Schema(beStrictOf(key, value)))
    for name, check in (
            LABEL_ALONE | PROVIDER_ALONE | LABEL_OF_ANY_DRIVER).items():
        found[name].append(vs.Schema(check))
    return found


def findFaultOfAll(faults):
    """
    :param faults: for each of several schemas, the mistake or None.
    :return: the first mistake, if all schemas reject the value; or None.
    """
    first = None
    for fault in faults:
        if fault is None:
            return None
        first = first or fault
    return first


def findFault(schema, value):
    """
    :param vs.Schema schema: the schema of one attribute.
    :param value: a value, possibly a part of a mapping that is merged.
    :return: the mistake in the value, or None.
    """
    try:
        schema(value)
    except vs.Invalid as invalid:
        error = getattr(invalid, 'errors', [invalid])[0]
        # Another stanza may set the missing keys of a mapping.
        if not error.path or not isinstance(value, dict):
            where = ''.join(f' at {key}' for key in error.path)
            return f'{error.error_message}{where}'
    except (LookupError, TypeError) as error:
        return str(error)
    return None


def _attributes(kind, schema):
    return frozenset(_keys(schema)) - STRUCTURE[kind] - {FINAL}


def _keys(schema):
    """:return: the names of the keys in all alternatives of a schema."""
    return {getName(key) for alternative in getAlternatives(schema)
            for key in alternative if isinstance(getName(key), str)}


def _exclusiveGroups(schema):
    """:return: yields the sets of names that exclude each other."""
    for alternative in getAlternatives(schema):
        groups = collections.defaultdict(set)
        for key in alternative:
            if isinstance(key, vs.Exclusive):
                groups[key.group_of_exclusion].add(getName(key))
        yield from groups.values()


def getAlternatives(schema):
    """:return: an iterator over the dictionaries that a schema contains."""
    if isinstance(schema, dict):
        yield schema
    elif hasattr(schema, 'validators'):
        for validator in schema.validators:
            yield from getAlternatives(validator)
    elif hasattr(schema, 'schema'):
        yield from getAlternatives(schema.schema)


def selectType(schema, image_type):
    """:return: a schema with the alternatives for one type of image."""
    def fits(alternative):
        for key, validator in alternative.items():
            if getName(key) == 'type':
                try:
                    vs.Schema(validator)(image_type)
                except vs.Invalid:
                    return False
        return True
    return vs.Any(*filter(fits, getAlternatives(schema)))


def getName(key):
    """:return: the value of a key that may be marked required or optional."""
    while isinstance(key, vs.Marker):
        key = key.schema
    return key
