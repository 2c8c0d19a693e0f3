"""A configuration that can say something at each level.

Of the eight levels from which a node has its attributes, and a few more
places that count as part of one of them.
"""

import json

from tests.fixtures.layout import makeProvider
from zuul_nodes.drivers import forNode

ZUUL_CONF = '[connection cloud]\ndriver=aws\n'
LEVELS = ('image', 'flavor', 'label', 'section', 'image in section',
          'flavor in section', 'provider', 'label in provider')
# Where everything is that a document says.
PLACE = r'\(project example.com/nodes, branch main, file .*, line 1\)'


def document(**attributes):
    """
    :param attributes: level -> what is said there.
    :return: a configuration with an image, a flavor and a label.
    """
    said = {level: attributes.pop(level, {}) for level in (
        *LEVELS, 'base section', 'base image', 'base label',
        'label in section', 'image in provider', 'flavor in provider')}
    assert not attributes
    return json.dumps([
        {'image': {'name': 'debian', 'type': 'cloud', **said['image']}},
        {'image': {'name': 'other', 'type': 'cloud', 'username': 'other'}},
        {'flavor': {'name': 'small', **said['flavor']}},
        {'flavor': {'name': 'large'}},
        {'label': {'name': 'node', 'image': 'debian', 'flavor': 'small',
                   **said['label']}},
        {'label': {'name': 'neighbour', 'image': 'debian',
                   'flavor': 'small'}},
        {'section': {
            'name': 'base', 'abstract': True, 'connection': 'cloud',
            'region': 'here',
            'images': [{'name': 'debian', 'image-id': 'ami-1',
                        **said['base image']}],
            'labels': [{'name': 'node', **said['base label']}],
            **said['base section']}},
        {'section': {
            'name': 'desk', 'parent': 'base',
            'images': [{'name': 'debian', **said['image in section']}],
            'flavors': [{'name': 'small', 'instance-type': 't3.small',
                         **said['flavor in section']}],
            'labels': [{'name': 'node', **said['label in section']}],
            **said['section']}},
        {'provider': {
            'name': 'desk', 'section': 'desk',
            'images': [{'name': 'debian', **said['image in provider']}],
            # A mere name is an entry, too, which "final" forbids.
            'flavors': [{'name': 'small', **each} for each
                        in [said['flavor in provider']] if each],
            'labels': [{'name': 'node', **said['label in provider']},
                       'neighbour'],
            **said['provider']}},
    ])


def load(**attributes):
    """:return: the provider of such a document."""
    return makeProvider(document(**attributes), ZUUL_CONF)


def view(provider, name):
    """
    :param str name: of a label.
    :return: provider, label, image and flavor as a node has them.
    """
    provider = forNode(provider, name, '')
    label = provider.labels[name]
    return {'provider': provider, 'label': label,
            'image': provider.images[label.image],
            'flavor': provider.flavors[label.flavor]}
