"""Which attributes a driver knows; its schemas say so."""

import collections
import functools
import hashlib

import voluptuous as vs

from zuul_nodes.configloader.spellings import getSpellings

# What an object is, as opposed to what it is like.
STRUCTURE = {
    'image': frozenset({'name', 'description', 'type'}),
    'flavor': frozenset({'name', 'description'}),
    'label': frozenset({'name', 'description', 'image', 'flavor'}),
}
FINAL = 'final'
# Counts, and seconds: where they are given, none is below 0.
NUMBERS = frozenset({
    'boot-timeout', 'import-timeout', 'launch-attempts', 'launch-timeout',
    'max-age', 'max-nodes', 'max-ready-age', 'max-retain-count',
    'min-ready', 'min-retention-time', 'retain-count', 'slots',
    'snapshot-timeout'})


def checkNumber(value):
    """
    :param value: of one of these attributes, as it is written.
    :return: what is wrong with it, or None.
    """
    # A boolean is an integer to Python, and to voluptuous.
    if value is None or (type(value) is int and value >= 0):
        return None
    shown = f'{value!r:.40}' if isinstance(value, str | int | float) else (
        f'a {type(value).__name__}')
    return f'expected a whole number, 0 or more, not {shown}'


def _checkCount(value):
    if problem := checkNumber(value):
        raise vs.Invalid(problem)
    return value


# Zuul takes these from the label's stanza alone; no driver's schema has
# them, but its records do.
LABEL_ALONE = {'min-ready': _checkCount, 'max-nodes': _checkCount}


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
        self.validators = {'image': Validator(images),
                           'flavor': Validator(flavors),
                           'label': Validator(labels)}
        self.label = _attributes('label', labels) | LABEL_ALONE.keys()
        self.flavor = _attributes('flavor', flavors)
        self.cloud, self.zuul = (
            _attributes('image', _ofType(images, image_type))
            for image_type in ('cloud', 'zuul'))
        self.image = self.cloud | self.zuul
        self.provider_schema = schema.getProviderSchema()
        self.provider = frozenset(
            name for name in _keys(self.provider_schema)
            if not name.startswith('_')) | PROVIDER_ALONE.keys()
        self.inheritable = {
            'label': _keys(schema.getInheritableLabelSchema()),
            'flavor': _keys(schema.getInheritableFlavorSchema()),
            'cloud': _keys(schema.getInheritableCloudImageSchema()),
            'zuul': _keys(schema.getInheritableZuulImageSchema()),
            'image': _keys(schema.getInheritableImageSchema()),
        }
        self.known = (self.label | self.flavor | self.image
                      | (OF_A_NODE & self.provider))
        self.spellings = getSpellings(self.known | self.provider)
        self.exclusive = [
            group for validator in self.validators.values()
            for group in _exclusiveGroups(validator.schema)]


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
