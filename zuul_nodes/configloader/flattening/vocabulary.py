"""Which attributes a driver knows; its schemas say so."""

import collections
import functools
import hashlib

import voluptuous as vs

from zuul_nodes.configloader.flattening.spellings import getSpellings
from zuul_nodes.drivers import LABEL_OF_ANY_DRIVER, beStrict, beStrictOf

# What an object is, as opposed to what it is like.
STRUCTURE = {
    'image': frozenset({'name', 'description', 'type'}),
    'flavor': frozenset({'name', 'description'}),
    'label': frozenset({'name', 'description', 'image', 'flavor'}),
}
FINAL = 'final'
ZONES = 'az'


def show(value):
    """:return: a value as it is written, for a message."""
    if isinstance(value, str | int | float):
        return f'{value!r:.40}'
    return 'null' if value is None else f'a {type(value).__name__}'


# Zuul takes these from the label's stanza alone; no driver's schema has
# them, but its records do.
LABEL_ALONE = beStrict({'min-ready': vs.Any(None, int),
                        'max-nodes': vs.Any(None, int)})


def _checkPriority(value):
    # A boolean is an integer to Python, and to voluptuous.
    if value is not None and (type(value) is not int or value < 0):
        raise vs.Invalid('expected an integer, 0 or more')
    return value


PRIORITY = 'priority'
# What the stanzas of providers and sections have with every driver, though
# no driver's schema has it.  There it is the provider's, whatever else has
# an attribute of that name, as flavors of Azure have.
PROVIDER_ALONE = {PRIORITY: _checkPriority}
# Attributes of a provider that may as well be said of a label.
OF_A_NODE = frozenset({'launch-timeout'})
# As many parts of each kind are remembered as being right.
REMEMBERED = 10_000
# Zuul accepts these on the stanza of any image.
OF_ANY_IMAGE = frozenset({'retain-count', 'max-retain-count'})
# What Zuul accepts on cloud images, too, though only uploads have it.
OF_UPLOADS = frozenset({'import-timeout'})
# Said of several labels, these would make them one.
OF_ONE_LABEL = frozenset({'aliases'})


@functools.cache
def getVocabulary(schema_class):
    """
    :param schema_class: the subclass of
        :class:`zuul.provider.BaseProviderSchema` that a driver has.
    :return: its :class:`Vocabulary`.
    """
    return Vocabulary(schema_class())


class Vocabulary:
    """The attributes that a driver knows.

    ``label``, ``flavor``, ``cloud``, ``zuul``
        of a label, a flavor and the two types of image: sets of names.
    ``image``
        of either type of image.
    ``known``
        all of these.
    ``uploads``
        of images that are uploaded, and of no node: a set of names.
    ``provider``
        of a provider, a set of names.
    ``provider_schema``
        that of a provider: Zuul makes one each time that it is asked.
    ``validators``
        kind -> function that raises if a part is not right; each is a
        :class:`Validator`.
    ``inheritable``
        kind or type -> what ``<kind>-defaults`` may give it.
    ``spellings``
        another name -> the name that the driver knows.
    ``exclusive``
        sets of attributes of which there can be one.
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
            _attributes('image', _ofType(images, image_type))
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
        """:return: whether an attribute means anything to the driver, by any
            of its names and at any object."""
        return (name in self.known or name in self.provider
                or name in self.spellings)

    def findPlace(self, name, kind):
        """
        :param str name: of an attribute that the driver knows.
        :param str kind: of the object that it stands at.
        :return: what it belongs to, in the plural; None if that is here.
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
        :param str name: of an attribute that the driver knows.
        :param value: as it is written, at any object.
        :return: what is wrong with it, or None.
        """
        name = self.spellings.get(name, name)
        if name == ZONES and isinstance(value, list):
            # Where a driver knows one, the launcher takes one of several.
            return next(filter(None, (
                self.findFault(name, zone) for zone in value)), None)
        return findFaultOfAll(findFault(schema, value)
                              for schema in self._schemas.get(name, ()))


class Validator:
    """A schema that remembers what has been right.

    Providers of one cloud have many parts in common, and schemas are what
    takes longest.
    """

    def __init__(self, schema):
        self.schema = schema
        # Hashes: what is written may be long.
        self.right = set()

    def __call__(self, part):
        """
        :param dict part: of a flat configuration.
        :raises: what the schema raises.
        """
        digest = hashlib.sha256(repr(part).encode()).digest()
        if digest not in self.right:
            self.schema(part)
            if len(self.right) >= REMEMBERED:
                self.right.clear()
            self.right.add(digest)


def _getSchemas(schemas):
    """:return: name of an attribute -> the schemas that its value may have,
        those of labels first."""
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
    :param faults: an iterator over what is wrong, or None, by each schema of
        which one is enough.
    :return: the first, if all of them say that something is; or None.
    """
    first = None
    for fault in faults:
        if fault is None:
            return None
        first = first or fault
    return first


def findFault(schema, value):
    """
    :param vs.Schema schema: for one attribute.
    :param value: that may be a part of what it comes to.
    :return: what is wrong with it, or None.
    """
    try:
        schema(value)
    except vs.Invalid as invalid:
        error = getattr(invalid, 'errors', [invalid])[0]
        # The rest of a mapping may be said elsewhere.
        if not error.path or not isinstance(value, dict):
            where = ''.join(f' at {key}' for key in error.path)
            return f'{error.error_message}{where}'
    except (LookupError, TypeError) as error:
        return str(error)
    return None


def _attributes(kind, schema):
    return frozenset(_keys(schema)) - STRUCTURE[kind] - {FINAL}


def _keys(schema):
    """:return: the names that are keys in any of a schema's alternatives."""
    return {getName(key) for alternative in getAlternatives(schema)
            for key in alternative if isinstance(getName(key), str)}


def _exclusiveGroups(schema):
    """:return: yields the sets of names that exclude one another."""
    for alternative in getAlternatives(schema):
        groups = collections.defaultdict(set)
        for key in alternative:
            if isinstance(key, vs.Exclusive):
                groups[key.group_of_exclusion].add(getName(key))
        yield from groups.values()


def getAlternatives(schema):
    """:return: an iterator over the dictionaries that a schema is made of."""
    if isinstance(schema, dict):
        yield schema
    elif hasattr(schema, 'validators'):
        for validator in schema.validators:
            yield from getAlternatives(validator)
    elif hasattr(schema, 'schema'):
        yield from getAlternatives(schema.schema)


def _ofType(schema, image_type):
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
    """:return: what a key is inside, be it required, optional or both."""
    while isinstance(key, vs.Marker):
        key = key.schema
    return key
