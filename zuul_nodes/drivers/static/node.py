"""The entries of ``nodes``, in a section or a provider."""

from collections.abc import Mapping
import uuid

import voluptuous as vs
from zuul.driver.static import staticprovider
from zuul.lib.voluputil import Nullable, Optional, assemble

from zuul_nodes.drivers import BOUNDS, addresses, beStrictOf
from zuul_nodes.drivers.static.hostkeys import (
    FORM,
    parseHostKey,
    readHostKey,
    splitHostKeys,
)
from zuul_nodes.drivers.static.hosts import explainHost
from zuul_nodes.suggestions import quote, suggest

# Attributes of images that an entry may override,
IMAGE_ATTRIBUTES = ('username', 'connection-type', 'connection-port',
                    'python-path', 'shell-type')
# and attributes of labels.
LABEL_ATTRIBUTES = ('boot-timeout', 'host-key-checking')
# Ansible's connection type -> default port.  The types for pods are missing:
# they work only with the values that a cluster reports.
DEFAULT_PORTS = {'ssh': 22, 'winrm': 5986, 'psrp': 5986, 'network_cli': 22,
                 'netconf': 830, 'httpapi': 443, 'local': None}
# Ansible does not connect to the machine with these types.
WITHOUT_PORT = {name for name, port in DEFAULT_PORTS.items() if port is None}
# These may have several values; :func:`normalizeNode` reads them.
NAMES = ('name', 'label', 'labels')


def _must(holds):
    """:return: a validator with a condition for a value, except for empty
        values and 0, which Zuul ignores."""
    def check(value):
        if value and not holds(value):
            raise vs.Invalid('not a valid value')
        return value
    return check


# Attribute -> (its schema in Zuul's terms, its description).
VALUES = {
    'host': (vs.All(str, _must(addresses.isHost)),
             'a host name or an IP address'),
    'aliases': (vs.Any(str, [str]), 'the name of a label or a list of them'),
    'username': (vs.All(str, _must(addresses.isUser)),
                 addresses.USER_WORDS),
    'connection-type': (
        vs.Any(*DEFAULT_PORTS),
        'one of ' + ', '.join(f'"{each}"' for each in DEFAULT_PORTS)),
    'connection-port': (beStrictOf('connection-port', int),
                        str(BOUNDS['connection-port'])),
    'python-path': (str, 'a string'),
    'shell-type': (str, 'a string'),
    'boot-timeout': (beStrictOf('boot-timeout', int),
                     str(BOUNDS['boot-timeout'])),
    'host-key-checking': (bool, 'true or false'),
    'host-key': (vs.Any(str, [str]), f'a string or a list. {FORM}'),
    'max-parallel-jobs': (beStrictOf('max-parallel-jobs', int),
                          str(BOUNDS['max-parallel-jobs'])),
}
# Attribute -> its documentation in the reference.
DOCS = {
    'name': """Host name or IP address of the node; without ``label`` also
        its label, or a list of labels.""",
    'host': 'Host name or IP address of the node, if ``name`` has another.',
    'label': 'The label of the node, or a list of labels.',
    'labels': 'The same as ``label``.',
    'aliases': 'An additional label that requests may use, or a list.',
    'username': "The user that Zuul logs in as; by default the image's.",
    'connection-type': """How Ansible connects: ``ssh``, ``winrm``,
        ``psrp``, ``network_cli``, ``netconf``, ``httpapi`` or ``local``; by
        default the image's.""",
    'connection-port': """By default the image's, or the port of the
        ``connection-type``: 22 for ``ssh`` and ``network_cli``, 5986 for
        ``winrm`` and ``psrp``, 830 for ``netconf``, 443 for ``httpapi``.""",
    'python-path': "The path of Python; by default the image's.",
    'shell-type': "The shell of the user; by default the image's.",
    'boot-timeout': """Seconds to wait for an answer; by default the
        label's.""",
    'host-key-checking': """Whether the launcher verifies the host keys; by
        default as the label says.""",
    'host-key': """The host key that the node has to present, or a list of
        these: type and key.  Without one, any key is accepted.""",
    'max-parallel-jobs': """Maximum number of jobs of all tenants that use
        the node at the same time; by default the ``slots`` of its label, or
        1.""",
}


def _getAttribute(key):
    """:return: the name of a configuration key as an attribute."""
    return key.replace('-', '_')


# Attributes of an entry that the record of a node has under the same names.
RECORDED = tuple(map(_getAttribute, (*IMAGE_ATTRIBUTES, *LABEL_ATTRIBUTES)))


def normalizeNode(entry, attached=None):
    """Convert an entry to the spelling of Zuul's own driver.

    A node has one or more labels in ``label`` or ``labels``; without
    these, its names are its labels (specification, "Configuration", the
    example of static nodes).  Its address is ``host``, or else its first
    name.

    :param entry: as configured; not changed.
    :param set attached: names of the labels that the provider has, or None
        for all labels.
    :return: a dictionary with the address as ``name``, a string as
        ``label`` and the other labels in ``aliases``; or None if none of its
        labels is attached.
    :raises vs.Invalid: the entry is invalid.
    """
    if not isinstance(entry, Mapping):
        raise vs.Invalid(
            'An entry in "nodes" is a mapping with at least "name" and '
            f'"label", not of the type {type(entry).__name__}')
    node = dict(entry)
    labels = _getLabels(entry)
    names = _getStrings(entry, 'name') if 'name' in entry else []
    host = node.pop('host', None)
    if host is None and names:
        host = names[0]
    if not host or not isinstance(host, str):
        raise vs.Invalid(
            f'{describe(entry)} has no address. Write its host name or IP '
            'address in "host" or "name", as a string')
    if not addresses.isHost(host):
        raise vs.Invalid(explainHost(host))
    if attached is not None:
        labels = [label for label in labels if label in attached]
        if not labels:
            return None
    node.pop('labels', None)
    node.update(name=host, label=labels[0])
    if labels[1:]:
        node['aliases'] = labels[1:] + _getAliases(entry)
    return node


def getLabels(config, aliases):
    """
    :param dict config: with ``nodes``; not validated.
    :param bool aliases: whether to include the names in ``aliases``.
    :return: a list of the names of all nodes' labels, each once.
    :raises vs.Invalid: an entry is invalid.
    """
    entries = config.get('nodes', [])
    if not isinstance(entries, list | tuple):
        raise vs.Invalid(
            f'"nodes" must be a list of nodes, not {type(entries).__name__}')
    names = []
    for entry in entries:
        normalizeNode(entry)
        names += _getLabels(entry)
        if aliases:
            names += _getAliases(entry)
    return list(dict.fromkeys(names))


def describe(entry):
    """:return: the subject of an error message about a node."""
    names = entry.get('name')
    if not isinstance(names, list | tuple):
        names = [names]
    for name in (entry.get('host'), *names):
        if name and isinstance(name, str):
            return f'The node "{name}"'
    return 'A node in "nodes"'


def _getLabels(entry):
    if 'label' in entry and 'labels' in entry:
        raise vs.Invalid(
            f'{describe(entry)} has both "label" and "labels". Write all '
            'of its labels in one of them')
    for key in ('label', 'labels'):
        if key in entry:
            if 'host' not in entry and not isinstance(
                    entry.get('name', ''), str):
                raise vs.Invalid(
                    f'{describe(entry)} has "{key}", so "name" must be its '
                    'host name or IP address, one string')
            return _getStrings(entry, key)
    if 'name' in entry:
        return _getStrings(entry, 'name')
    raise vs.Invalid(
        f'{describe(entry)} has no label. Write one label, or a list of '
        'labels, in "label"')


def _getAliases(entry):
    # Zuul treats an empty string as no alias.
    return _getStrings(entry, 'aliases') if entry.get('aliases') else []


def _getStrings(entry, key):
    value = entry[key]
    strings = [value] if isinstance(value, str) else value
    if (not isinstance(strings, list | tuple) or not strings
            or not all(isinstance(each, str) and each for each in strings)):
        raise vs.Invalid(
            f'{describe(entry)}: "{key}" must be a string or a list of '
            'strings')
    return list(strings)


def validateNode(entry):
    """Validate an entry of ``nodes``; for use in a schema.

    :param entry: as configured.
    :return: the same.
    :raises vs.Invalid: the entry is invalid; the message says how to correct
        it.
    """
    acceptNode(entry)
    try:
        lines = splitHostKeys(entry.get('host-key'))
        if 'host-key' in entry and not lines:
            raise ValueError('the value contains no host key')
        for line in lines:
            parseHostKey(line)
    except ValueError as error:
        raise vs.Invalid(
            f'{describe(entry)}: "host-key": {error}. {FORM}') from None
    return entry


# The generated reference reads this attribute.
validateNode.schema = vs.Schema({
    Optional(key, doc=doc): VALUES[key][0] if key in VALUES
    else vs.Any(str, [str]) for key, doc in DOCS.items()})


def acceptNode(entry):
    """As :func:`validateNode`, but for records in ZooKeeper.

    Zuul's own driver does not validate host keys.  If a record with an
    invalid key could not be read, no tenant would get nodes any more.  Such a
    node never passes the host key scan.
    """
    normalizeNode(entry)
    for key, value in entry.items():
        if key in NAMES:
            continue
        if key not in VALUES:
            raise vs.Invalid(
                f'{describe(entry)} has the unknown attribute '
                f'{quote(str(key))}. {suggest(key, (*NAMES, *VALUES))}')
        schema, words = VALUES[key]
        try:
            vs.Schema(schema)(value)
        except vs.Invalid:
            raise vs.Invalid(
                f'{describe(entry)}: "{key}" must be {words}') from None
    return entry


class StaticNodeConfig(staticprovider.StaticNodeConfig):
    """The configuration of a node of a provider.

    :param dict node_config: an entry in Zuul's spelling, with the attributes
        that the node's label overrides in its image.
    :param dict provider_config: the flat configuration.
    :ivar list host_keys: the keys in ``host-key``, in the format of Zuul's
        records; empty if the entry has none.
    :ivar int slots: maximum number of jobs at the same time, after all
        attributes are inherited.
    """

    schema = assemble(
        staticprovider.StaticNodeConfig.schema,
        vs.Schema({Optional(key): Nullable(VALUES[key][0])
                   for key in (*IMAGE_ATTRIBUTES, *LABEL_ATTRIBUTES,
                               'host-key', 'max-parallel-jobs')}))
    internal_schema = schema

    def __init__(self, node_config, provider_config):
        super().__init__(node_config, provider_config)
        self.host_keys = [readHostKey(line)
                          for line in splitHostKeys(self.host_key)]

    @property
    def machine(self):
        """Identifies the machine: equal for entries of the same machine in all
        providers, after all attributes are inherited."""
        return (addresses.normalizeHost(self.name), self.connection_port,
                self.username)

    def inheritFrom(self, image, flavor):
        """Copy attributes that the entry does not set from its label's image.

        The port of the image is not copied if the connection types differ.
        """
        if (self.connection_port is None and self.connection_type is not None
                and self.connection_type != image.connection_type):
            self.connection_port = DEFAULT_PORTS[self.connection_type]
        self._fillIn(IMAGE_ATTRIBUTES, image)
        if self.connection_type in WITHOUT_PORT:
            self.connection_port = None

    def inheritFromLabel(self, label):
        """Copy attributes that the entry does not set from its label."""
        self._fillIn(LABEL_ATTRIBUTES, label)
        self.slots = self.max_parallel_jobs or label.slots or 1
        if self.max_parallel_jobs is not None:
            # Existing records of slots do not change, so a node with another
            # number of slots gets new records.
            self.node_id = uuid.uuid5(staticprovider.NODE_NAMESPACE, (
                f'{self.node_id} {self.max_parallel_jobs}')).hex

    def isCurrent(self, node):
        """
        :param ProviderNode node: the node, created by any definition.
        :return: whether its record matches this definition.
        """
        if any(getattr(node, name) != getattr(self, name)
               for name in RECORDED):
            return False
        # Without configured keys, the keys of the host key scan are current.
        return not self.host_keys or (
            bool(node.host_keys)
            and set(node.host_keys) <= set(self.host_keys))

    def _fillIn(self, keys, other):
        for name in map(_getAttribute, keys):
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))
