"""The metadata of servers: tags, and properties with fields to fill in.

Nova accepts keys and values of at most 255 characters, which :mod:`names`
ensures, and limits their number per project:
https://docs.openstack.org/api-ref/compute/#create-server
"""

import logging
import string

import voluptuous as vs

from zuul_nodes.drivers import PermanentError

LONGEST = 255
# Nova's default.
MOST = 128


def checkText(value):
    """:return: a valid value of a property."""
    if not isinstance(value, str):
        raise vs.Invalid('expected a string')
    if len(value) > LONGEST:
        raise vs.Invalid(f'the value has {len(value)} characters; Nova '
                         f'accepts {LONGEST}')
    return value


def checkFormat(value):
    """:return: a valid value with fields in braces."""
    if not isinstance(value, str):
        raise vs.Invalid('expected a string')
    try:
        for _, name, spec, conversion in string.Formatter().parse(value):
            if name is None:
                continue
            if not name or spec or conversion:
                raise ValueError('braces must contain one name, such as '
                                 '{request.id}')
    except ValueError as error:
        raise vs.Invalid(f'the value cannot be filled in: {error}') from None
    return value


PROPERTIES = {checkText: checkText}
DYNAMIC_PROPERTIES = {checkText: checkFormat}


class Properties:
    """Fills in the properties of a node for its launch.

    :param BaseProvider provider: that launches it.
    :param ProviderNode node:
    """

    log = logging.getLogger('zuul.nodes.drivers.openstack')

    def __init__(self, provider, node):
        self.provider = provider
        self.node = node
        label = provider.labels[node.label]
        self.values = {
            'request.id': node.request_id,
            'request.event_id': node.zuul_event_id,
            'request.created_time': node.request_time,
            'request.tenant_name': provider.tenant_name,
            'node.id': node.uuid,
            'node.uuid': node.uuid,
            'label.name': label.name,
            'image.name': label.image,
            'flavor.name': label.flavor,
            'provider.name': provider.name,
        }

    def fill(self, properties):
        """
        :param dict properties: values with fields in braces.
        :return: the properties, filled in.  Properties with a field that does
            not exist or has no value are omitted.
        """
        filled = {}
        for key, text in properties.items():
            try:
                filled[key] = self._fill(text)
            except KeyError as error:
                self.log.warning(
                    'Launching node %s without the property "%s": %s has no '
                    'value', self.node.uuid, key, error)
        return filled

    def _fill(self, text):
        parts = []
        for literal, name, *_ in string.Formatter().parse(text):
            parts.append(literal)
            if name is not None:
                value = self.values.get(name)
                if value is None:
                    raise KeyError(name)
                parts.append(str(value))
        return ''.join(parts)


def checkMetadata(metadata, label_name, most=MOST):
    """
    :param dict metadata: of a server.
    :param int most: maximum number of items; negative for no limit.
    :raises PermanentError: Nova would refuse so many.
    """
    if 0 <= most < len(metadata):
        raise PermanentError(
            f'The label "{label_name}" has {len(metadata)} tags and '
            f'properties, including those of Zuul, but the project may have '
            f'{most}')
