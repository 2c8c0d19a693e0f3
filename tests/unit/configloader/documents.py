"""Documents that go wrong in every way that YAML and Zuul know of.

A document is a list of stanzas, each a pair of its kind and what it says.
It starts as one that is right, and is changed a few times.  What it is
made of can stand for any YAML: strings, numbers, lists, and the classes
below.
"""

import copy
import dataclasses
import functools

from hypothesis import strategies as st


class Raw(str):
    """YAML, as it is."""


class Mapping(list):
    """Pairs of key and value; a key may be there twice."""


@dataclasses.dataclass
class Tagged:
    """A value after a tag or an anchor."""
    tag: str
    value: object


def write(value):
    """:return: it, as YAML on one line."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Tagged):
        return f'{value.tag} {write(value.value)}'
    if isinstance(value, Mapping):
        return '{' + ', '.join(
            f'? {write(key)} : {write(each)}' for key, each in value) + '}'
    if isinstance(value, list):
        return '[' + ', '.join(map(write, value)) + ']'
    if isinstance(value, str):
        return '"' + ''.join(map(_writeCharacter, value)) + '"'
    if value is None or isinstance(value, bool):
        return {None: 'null', True: 'true', False: 'false'}[value]
    return str(value)


def _writeCharacter(character):
    if character in '"\\':
        return '\\' + character
    # Of others, YAML has some as they are and some not.
    if character.isprintable():
        return character
    return f'\\U{ord(character):08x}'


def writeDocument(stanzas):
    """:return: the text of a file."""
    return ''.join(f'- {write(Mapping([stanza]))}\n' for stanza in stanzas)


def _make(value):
    """:return: plain data, as a document has them."""
    if isinstance(value, dict):
        return Mapping([key, _make(each)] for key, each in value.items())
    if isinstance(value, list):
        return [_make(each) for each in value]
    return value


# Driver -> what its connection in zuul.conf has.
CONNECTIONS = {
    'openstack': {'cloud': 'cloud'},
    'aws': {'access_key_id': 'nobody', 'secret_access_key': 'nothing'},
    'kubernetes': {'context': 'nowhere'},
}
# Driver -> what image, flavor, label, section have for it.
_ATTRIBUTES = {
    'static': ({'username': 'zuul', 'connection-port': 22}, {}, {},
               {'connection': None, 'resource-limits': {'instances': 3},
                'nodes': [{'name': '192.0.2.1', 'label': 'big'},
                          {'name': ['desk', 'big'], 'host': '192.0.2.3',
                           'aliases': 'large'}]}),
    'openstack': ({'image-id': 'f00d', 'config-drive': True},
                  {'flavor-name': 'm1.small', 'volume-size': 20},
                  {'networks': ['private'], 'az': ['one', 'two']},
                  {'connection': 'openstack', 'region': 'west',
                   'quota': {'instances': 3, 'ram': 4096}}),
    'aws': ({'image-id': 'ami-f00d'},
            {'instance-type': 't3.small', 'volume-type': 'gp3'},
            {'subnet-ids': ['subnet-1'], 'az': 'one'},
            {'connection': 'aws', 'region': 'us-west-1',
             'resource-limits': {'instances': 3}}),
    'kubernetes': ({}, {},
                   {'kind': 'pod', 'spec': {'containers': [
                       {'name': 'pod', 'image': 'debian'}]}},
                   {'connection': 'kubernetes'}),
}
DRIVERS = list(_ATTRIBUTES)


@functools.cache
def _makeDocument(driver):
    image, flavor, label, section = _ATTRIBUTES[driver]
    return [[kind, _make(value)] for kind, value in (
        ('image', {'name': 'debian', 'type': 'cloud',
                   'description': 'An image.', **image}),
        ('image', {'name': 'own', 'type': 'zuul', 'retain-count': 2,
                   'max-retain-count': 3, 'tags': {'a': 'b'}}),
        ('flavor', {'name': 'small', 'description': 'A flavor.', **flavor}),
        ('label', {'name': 'big', 'image': 'debian', 'flavor': 'small',
                   'aliases': ['large'], 'min-ready': 1, 'max-nodes': 4,
                   'tags': {'a': 'b'}, 'launch-timeout': 60, **label}),
        ('label', {'name': 'large', 'image': 'own', 'flavor': 'small',
                   'boot-timeout': 30, 'username': 'me', **label}),
        ('label', {'name': 'desk', 'image': 'own', 'flavor': 'small',
                   **label}),
        ('section', {'name': 'base', 'abstract': True, **section,
                     'label-defaults': {'boot-timeout': 90,
                                        'tags': {'c': 'd'}},
                     'image-defaults': {'username': 'root'},
                     'flavor-defaults': {}}),
        ('section', {'name': 'west', 'parent': 'base', 'launch-attempts': 2,
                     'images': ['debian', {'name': 'own', 'final': False}],
                     'flavors': [{'name': 'small'}],
                     'labels': [{'name': 'big', 'final': 'allow-override',
                                 'tags': {'e': 'f'}}]}),
        ('provider', {'name': 'west-1', 'section': 'west',
                      'description': 'A provider.', 'launch-timeout': 300,
                      'images': [{'name': 'own', 'import-timeout': 9}],
                      'labels': ['big', {'name': 'large',
                                         'max-ready-age': 5}, 'desk'],
                      'label-defaults': {'reuse': True}}),
        ('provider', {'name': 'west-2', 'section': 'west',
                      'labels': ['large']}),
    )]


def makeDocument(driver):
    """:return: a document that is right."""
    return copy.deepcopy(_makeDocument(driver))


NAMES = ['.', '..', '', '/', 'a/b', '../..', 'big', 'large', 'debian',
         'own', 'small', 'base', 'west', 'west-1', '(big)', '((big))', ' ',
         '%2e', '\x00', '\n', '\x7f\x85', '\u202eesrever', '\U0001f600',
         '\u2028', '\ufeff', '\uffff', 'e\u0301' * 40, 'x' * 300,
         'x' * 70_000, '\U0001f600' * 3_000, '{name}', '%s%n', '"', "'",
         'null', '~', '*', '!', '<<', '=', '-']
NUMBERS = [Raw(number) for number in (
    '0', '-1', '1', '3', '2147483648', '9223372036854775807',
    '9223372036854775808', '-9223372036854775809', '9' * 400, '9' * 5_000,
    '0x7fffffff', '0x' + 'f' * 400, '0o17', '017', '0b1010', '1_000',
    '190:20:30', '1e3', '1.5e+300', '1.5e+400', '-0.0', '.5', '.inf',
    '-.inf', '.nan', '12e03', '685.230_15e+03')]
SCALARS = [Raw(scalar) for scalar in (
    'null', '~', '""', 'true', 'false', 'yes', 'off', 'True',
    '2002-12-14', '2001-12-14t21:59:43.10-05:00', '=', '<<', '"\\ud800"',
    '"\\udfff\\ud800"', '"\\0"', '"\\x00\\x1b[2J"', '!!binary aGVsbG8=',
    '!!binary "not base64"', '!!binary /w==', '!!float nan', '!!int x',
    '!!str 3', '!!str [a]', '!!timestamp never', '!!bool maybe', '!!null x',
    '!encrypted/pkcs1-oaep aGVsbG8=', '!encrypted/pkcs1-oaep [aGVsbG8=]',
    '!encrypted/pkcs1-oaep {a: b}', '!unknown x', '!!python/object:os x',
    '!override x', '!inherit [x]', '!override {a: 1}', '!override 3',
    '!unsafe "{{ x }}"', '! x', '*nowhere', '&alone', "'", '"', '@', '`',
    '%', '{{ x }}', '\t', ' # x')]
COLLECTIONS = [Raw(collection) for collection in (
    '[]', '{}', '[[]]', '[{}]', '{? {} : []}', '{a: {b: {c: d}}}',
    '[null]', '[1, x, true]', '[[a, b], c]', '{1: x}', '{null: x}',
    '{null: x, 1: y}', '{2: x, 10: y}', '{true: x, -1.5: y}',
    '{true: 1, x: 2}', '{1.5: x, 1: y}', '{2002-12-14: x}', '{[a]: b}',
    '{? [a, b] : c}', '{!!binary aGVsbG8=: x}', '{.nan: x, .inf: y}',
    '{a: 1, a: 2}', '{name: debian}', '{name: big}', '{name: null}',
    '{name: [big]}', '[{name: big}, {name: big, final: true}]',
    '[big, big]', '[debian, own, debian]', '[small, {name: small}]',
    '{final: true}', '{final: {}}', '{max-retain-count: 9}',
    '{max-retain-count: x}', '{tags: [a]}', '{tags: null}',
    '{tags: {a: 1}}', '{tags: {c: {d: e}}}', '{az: []}', '{az: [1]}',
    '!!set {a, b}', '!!omap [a: 1]', '!!pairs [a: 1, a: 2]',
    '!!python/tuple [a]', '{<<: {name: x}}', '{<<: [{a: 1}, {a: 2}]}',
    '{<<: x}', '{<<: [x]}', '{<<: null}', '{<<: &m {<<: *m}}',
    '{<<: {<<: {a: 1}}}', '&r [*r]', '&r {a: *r}', '&r {*r : a}',
    '{_source_context: x}', '{_start_mark: x}', '[' * 39 + ']' * 39,
    '[' * 60 + ']' * 60, '{a: ' * 60 + '1' + '}' * 60,
    '[' * 900 + ']' * 900, '{a: ' * 900 + '1' + '}' * 900,
    '[' + ', '.join(map(str, range(3_000))) + ']',
    '{' + ', '.join(f'k{n}: {n}' for n in range(3_000)) + '}',
    '[' + '{name: big}, ' * 300 + ']')]
# An alias of an alias of an alias: 9 ** 7 values.  With more, a mistake
# would take all memory there is instead of failing a test.
LAUGHS = [Raw(f'[&l0 {first}, ' + ', '.join(
    f'&l{n} ' + template.format(', '.join(
        separator.format(key, n - 1) for key in range(9)))
    for n in range(1, 8)) + ']') for first, template, separator in (
        ('[ha]', '[{}]', '*l{1}'),
        ('{ha: ha}', '{{{}}}', 'k{0}: *l{1}'))]
VALUES = [*NAMES, *NUMBERS, *SCALARS, *COLLECTIONS]
TAGS = ['!!str', '!!int', '!!float', '!!bool', '!!null', '!!seq', '!!map',
        '!!set', '!!omap', '!!pairs', '!!binary', '!!timestamp',
        '!!python/none', '!encrypted/pkcs1-oaep', '!unknown', '!override',
        '!inherit', '!unsafe', '!', '!<tag:example.com,2024:x>']
ATTRIBUTES = [
    'name', 'description', 'type', 'image', 'flavor', 'final', 'parent',
    'abstract', 'connection', 'section', 'images', 'flavors', 'labels',
    'nodes', 'image-defaults', 'flavor-defaults', 'label-defaults', 'tags',
    'meta', 'aliases', 'min-ready', 'max-nodes', 'max-ready-age', 'max-age',
    'retain-count', 'max-retain-count', 'username', 'connection-type',
    'connection-port', 'python-path', 'shell-type', 'import-timeout',
    'upload-methods', 'boot-timeout', 'launch-timeout', 'launch-attempts',
    'host-key-checking', 'slots', 'reuse', 'executor-zone', 'image-id',
    'image-name', 'image-filters', 'flavor-name', 'cloud-flavor',
    'instance-type', 'az', 'availability-zones', 'resource-limits', 'quota',
    'networks', 'subnet-ids', 'subnet', 'security-groups', 'region',
    'config-drive', 'userdata', 'volume-size', 'volume-type', 'kind', 'spec',
    'annotations', 'image-pull-secrets', 'fleet', 'dedicated-host', 'iops',
    'market-type', 'object-storage', 'include-all-node-labels', 'host',
    'host-key', 'label', 'zuul_nodes', 'config_hash', 'branch',
    'project_canonical_name', '_source_context', '_start_mark', '__class__',
    '__dict__', 'boot-speed', 'image_id', 'Name',
    'priority']
FINALS = [True, False, 'allow-override', None, 'yes', 1, 0, '', 'never',
          Raw('[true]'), Raw('{allow-override: true}'), Raw('1.0')]
SPELLINGS = [('tags', 'meta'), ('az', 'availability-zones'),
             ('resource-limits', 'quota'), ('image-id', 'image-name'),
             ('flavor-name', 'cloud-flavor'), ('networks', 'subnet'),
             ('flavor-name', 'instance-type'), ('subnet-ids', 'subnet')]


@dataclasses.dataclass
class Place:
    """Somewhere in a document: a value, and what it is in."""
    container: list
    index: int

    @property
    def value(self):
        return self.container[self.index]

    @value.setter
    def value(self, value):
        self.container[self.index] = value


def _findPlaces(container, index):
    yield Place(container, index)
    value = container[index]
    if isinstance(value, Tagged):
        return
    if isinstance(value, Mapping):
        for pair in value:
            yield from _findPlaces(pair, 1)
    elif isinstance(value, list):
        for number in range(len(value)):
            yield from _findPlaces(value, number)


def _findMappings(place):
    return [each.value for each in _findPlaces(place.container, place.index)
            if isinstance(each.value, Mapping)]


class Mutations:
    """Ways to change a document.  Each gets places to choose from.

    :param draw: hypothesis's function that makes a choice.
    :param list stanzas: the document; it is changed.
    """

    def __init__(self, draw, stanzas):
        self.draw = draw
        self.stanzas = stanzas

    def choose(self, choices):
        return self.draw(st.sampled_from(choices))

    def swapValue(self, places):
        self.choose(places).value = self.choose(VALUES)

    def swapScalar(self, places):
        place = self.choose([each for each in places
                             if not isinstance(each.value, list)] or places)
        place.value = self.choose([*NAMES, *NUMBERS, *SCALARS])

    def swapForType(self, places):
        place = self.choose(places)
        place.value = self.choose([
            write(place.value), [place.value], Mapping([['a', place.value]]),
            None, True, 3, '', [], Mapping()])

    def swapName(self, places):
        stanza = places[0].value
        pair = self.choose([pair for pair in stanza if pair[0] in (
            'name', 'parent', 'section', 'image', 'flavor', 'type',
            'connection')] or stanza) if stanza else None
        if pair:
            pair[1] = self.choose(NAMES)

    def swapReference(self, places):
        name = self.choose(['connection', 'parent', 'section', 'image',
                            'flavor', 'aliases', 'images', 'flavors',
                            'labels', 'nodes', 'tags', 'type'])
        stanza = places[0].value
        stanza[:] = [pair for pair in stanza if pair[0] != name]
        stanza.append([name, self.choose(VALUES)])

    def drop(self, places):
        mapping = self.choose(_findMappings(places[0]))
        if mapping:
            mapping.remove(self.choose(mapping))

    def duplicateKey(self, places):
        mapping = self.choose(_findMappings(places[0]))
        if mapping:
            pair = self.choose(mapping)
            mapping.append([pair[0], self.choose([pair[1], *VALUES])])

    def addAttribute(self, places):
        self.choose(_findMappings(places[0])).append(
            [self.choose(ATTRIBUTES), self.choose(VALUES)])

    def addToStanza(self, places):
        places[0].value.append(
            [self.choose(ATTRIBUTES), self.choose(VALUES)])

    def addKey(self, places):
        self.choose(_findMappings(places[0])).append(
            [self.choose(VALUES), 'x'])

    def addDefaults(self, places):
        places[0].value.append([
            self.choose(['image', 'flavor', 'label']) + '-defaults',
            self.choose([*COLLECTIONS, *SCALARS, Mapping([
                [self.choose(ATTRIBUTES), self.choose(VALUES)]])])])

    def addFinal(self, places):
        self.choose(_findMappings(places[0])).append(
            ['final', self.choose(FINALS)])

    def addSpellings(self, places):
        mapping = self.choose(_findMappings(places[0]))
        for name in self.choose(SPELLINGS):
            mapping.append([name, self.choose([
                'x', ['x', 'y'], Mapping([['a', 'b']]), 3, *COLLECTIONS])])

    def addLaughs(self, places):
        if self.choose([True, False]):
            places[0].value.append(
                [self.choose(ATTRIBUTES), self.choose(LAUGHS)])
        else:
            self.choose(places).value = self.choose(LAUGHS)

    def addCycle(self, places):
        sections = [value for kind, value in self.stanzas
                    if kind == 'section' and isinstance(value, Mapping)]
        for section in sections:
            section.append(['parent', self.choose(['base', 'west'])])

    def nest(self, places):
        place = self.choose(places)
        depth = self.choose([1, 2, 38, 41, 100, 900])
        opening, closing = self.choose([('[', ']'), ('{a: ', '}')])
        place.value = Raw(
            opening * depth + write(place.value) + closing * depth)

    def tag(self, places):
        place = self.choose(places)
        place.value = Tagged(self.choose(TAGS), place.value)

    def alias(self, places):
        first, second = self.choose(places), self.choose(places)
        anchor = self._newAnchor()
        if first.container is not second.container:
            first.value = Tagged(f'&{anchor}', first.value)
            second.value = Raw(f'*{anchor}')

    def recurse(self, places):
        place = self.choose([each for each in places
                             if isinstance(each.value, list)] or places)
        anchor = self._newAnchor()
        inner = list(_findPlaces(place.container, place.index))[1:]
        if inner:
            self.choose(inner).value = Raw(f'*{anchor}')
        place.value = Tagged(f'&{anchor}', place.value)

    def mergeKey(self, places):
        self.choose(_findMappings(places[0])).append(
            [Raw('<<'), self.choose([
                Mapping([[self.choose(ATTRIBUTES), self.choose(VALUES)]]),
                *COLLECTIONS, *SCALARS])])

    def copyFromElsewhere(self, places):
        _, stanza = self.choose(self.stanzas)
        source = self.choose(list(_findPlaces([stanza], 0)))
        self.choose(places).value = copy.deepcopy(source.value)

    def repeatStanza(self, places):
        kind = next(stanza[0] for stanza in self.stanzas
                    if stanza is places[0].container)
        self.stanzas.append([kind, copy.deepcopy(places[0].value)])

    def _newAnchor(self):
        # Counted in the document, to be the same with each run.
        return f'a{writeDocument(self.stanzas).count("&")}'


MUTATIONS = [name for name, value in vars(Mutations).items()
             if callable(value) and not name.startswith('_')
             and name != 'choose']


@st.composite
def documents(draw, kind):
    """:return: a strategy for texts.
    :param str kind: of the stanza that is changed most."""
    driver = draw(st.sampled_from(DRIVERS))
    stanzas = makeDocument(driver)
    mutations = Mutations(draw, stanzas)
    for _ in range(draw(st.integers(1, 4))):
        of_kind = [stanza for stanza in stanzas if stanza[0] == kind]
        anywhere = draw(st.integers(0, 4)) == 4
        stanza = draw(st.sampled_from(stanzas if anywhere else of_kind))
        name = draw(st.sampled_from(MUTATIONS))
        if isinstance(stanza[1], Mapping):
            getattr(mutations, name)(list(_findPlaces(stanza, 1)))
    return writeDocument(stanzas)
