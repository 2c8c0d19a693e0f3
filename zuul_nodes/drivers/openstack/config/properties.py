"""The metadata of servers: tags, properties, and what is filled in.

Nova takes keys and values of 255 characters at most, which
:mod:`names` sees to, and a number of them that a project has a limit of:
https://docs.openstack.org/api-ref/compute/#create-server
"""

import logging
import string

import voluptuous as vs

from zuul_nodes.drivers import PermanentError

LONGEST = 255
# As Nova comes.
MOST = 128


def checkText(value):
    """:return: a value of a property."""
    if not isinstance(value, str):
        raise vs.Invalid('expected a text')
    if len(value) > LONGEST:
        raise vs.Invalid(f'it has {len(value)} characters, and Nova takes '
                         f'{LONGEST}')
    return value


def checkFormat(value):
    """:return: a value with names in braces."""
    if not isinstance(value, str):
        raise vs.Invalid('expected a text')
    try:
        for _, name, spec, conversion in string.Formatter().parse(value):
            if name is None:
                continue
            if not name or spec or conversion:
                raise ValueError('between braces there is one name, such as '
                                 '{request.id}')
    except ValueError as error:
        raise vs.Invalid(f'it can not be filled in: {error}') from None
    return value


PROPERTIES = {checkText: checkText}
DYNAMIC_PROPERTIES = {checkText: checkFormat}


class Properties:
    """What is filled in, of a node that is to be made.

    :param BaseProvider provider: that makes it.
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
        :param dict properties: values with names in braces.
        :return: the same, filled in.  What has a name that there is not, or
            of which nothing is known, is left out.
        """
        filled = {}
        for key, text in properties.items():
            try:
                filled[key] = self._fill(text)
            except KeyError as error:
                self.log.warning(
                    'Node %s is made without the property "%s": %s is not '
                    'known', self.node.uuid, key, error)
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
    :param dict metadata: that a server is to have.
    :param int most: how many of them it may have; negative for no limit.
    :raises PermanentError: Nova would not take so many.
    """
    if 0 <= most < len(metadata):
        raise PermanentError(
            f'The label "{label_name}" has {len(metadata)} tags and '
            f'properties, with those of Zuul; the project may have {most}')
