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

# What a node says in place of its image,
IMAGE_ATTRIBUTES = ('username', 'connection-type', 'connection-port',
                    'python-path', 'shell-type')
# and of its label.
LABEL_ATTRIBUTES = ('boot-timeout', 'host-key-checking')
# How Ansible may connect to a machine that is there already -> the port.  It
# connects to pods by what a cluster has said of them.
DEFAULT_PORTS = {'ssh': 22, 'winrm': 5986, 'psrp': 5986, 'network_cli': 22,
                 'netconf': 830, 'httpapi': 443, 'local': None}
# Nothing connects to these.
WITHOUT_PORT = {name for name, port in DEFAULT_PORTS.items() if port is None}
# These can be several, and are read by :func:`normalizeNode`.
NAMES = ('name', 'label', 'labels')


def _must(holds):
    """:return: a validator of what has to be true of a value, unless it is
        empty or 0, which Zuul takes for none."""
    def check(value):
        if value and not holds(value):
            raise vs.Invalid('not a valid value')
        return value
    return check


# Attribute -> (what it is in Zuul's terms, and in words).
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
# For the reference, what people write there.
DOCS = {
    'name': """Its host name or IP address; without ``label`` also its
        label, or labels in a list.""",
    'host': 'Its host name or IP address, if ``name`` is not.',
    'label': 'Its label, or a list of them.',
    'labels': 'The same as ``label``.',
    'aliases': 'More labels by which it can be asked for, or one.',
    'username': "The user that Zuul logs in as; by default the image's.",
    'connection-type': """How Ansible connects: ``ssh``, ``winrm``,
        ``psrp``, ``network_cli``, ``netconf``, ``httpapi`` or ``local``; by
        default as the image says.""",
    'connection-port': """By default the image's, or that of the
        ``connection-type``: 22 for ``ssh`` and ``network_cli``, 5986 for
        ``winrm`` and ``psrp``, 830 for ``netconf``, 443 for ``httpapi``.""",
    'python-path': "The path of Python; by default the image's.",
    'shell-type': "The shell of the user; by default the image's.",
    'boot-timeout': """Seconds to wait for an answer; by default the
        label's.""",
    'host-key-checking': """Whether its host keys are looked at; by default
        as the label says.""",
    'host-key': """What it has to show, or a list of these: type and key.
        Without one, any key will do.""",
    'max-parallel-jobs': """How many jobs may use it at the same time, of all
        tenants; by default the ``slots`` of its label, or 1.""",
}


def _getAttribute(key):
    """:return: what a key of the configuration is called in an object."""
    return key.replace('-', '_')


# What the record of a node has, too, by the same names.
RECORDED = tuple(map(_getAttribute, (*IMAGE_ATTRIBUTES, *LABEL_ATTRIBUTES)))


def normalizeNode(entry, attached=None):
    """Bring the spellings of an entry to the one that Zuul has.

    A node has one label or several, by ``label`` or ``labels``; without
    these, its names are its labels (specification, "Configuration", the
    example of static nodes).  It is reached at ``host``, or else at its
    first name.

    :param entry: as it was written; not changed.
    :param set attached: the names of the labels that the provider has,
        or None for all there are.
    :return: a dictionary with the address for ``name``, a string for
        ``label`` and what labels there are besides in ``aliases``; or
        None if none of its labels is attached.
    :raises vs.Invalid: the entry can't be understood.
    """
    if not isinstance(entry, Mapping):
        raise vs.Invalid(
            'An entry in "nodes" has attributes, "name" and "label" at '
            f'least; this one is of the type {type(entry).__name__}')
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
    :param bool aliases: whether those in ``aliases`` count.
    :return: a list of the names of all nodes' labels, each once.
    :raises vs.Invalid: an entry can't be understood.
    """
    entries = config.get('nodes', [])
    if not isinstance(entries, list | tuple):
        raise vs.Invalid(
            f'"nodes" is a list of nodes, not {type(entries).__name__}')
    names = []
    for entry in entries:
        normalizeNode(entry)
        names += _getLabels(entry)
        if aliases:
            names += _getAliases(entry)
    return list(dict.fromkeys(names))


def describe(entry):
    """:return: how errors call a node."""
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
                    f'{describe(entry)} has "{key}", so "name" is its host '
                    'name or IP address, one string')
            return _getStrings(entry, key)
    if 'name' in entry:
        return _getStrings(entry, 'name')
    raise vs.Invalid(
        f'{describe(entry)} has no label. Write one, or a list of them, '
        'in "label"')


def _getAliases(entry):
    # Zuul takes an empty string for no alias.
    return _getStrings(entry, 'aliases') if entry.get('aliases') else []


def _getStrings(entry, key):
    value = entry[key]
    strings = [value] if isinstance(value, str) else value
    if (not isinstance(strings, list | tuple) or not strings
            or not all(isinstance(each, str) and each for each in strings)):
        raise vs.Invalid(
            f'{describe(entry)}: "{key}" is a string or a list of strings')
    return list(strings)


def validateNode(entry):
    """A validator for entries of ``nodes``; to be used in a schema.

    :param entry: as it was written.
    :return: the same.
    :raises vs.Invalid: it is not right; the message says what would be.
    """
    acceptNode(entry)
    try:
        lines = splitHostKeys(entry.get('host-key'))
        if 'host-key' in entry and not lines:
            raise ValueError('there is none')
        for line in lines:
            parseHostKey(line)
    except ValueError as error:
        raise vs.Invalid(
            f'{describe(entry)}: "host-key": {error}. {FORM}') from None
    return entry


# For the reference.
validateNode.schema = vs.Schema({
    Optional(key, doc=doc): VALUES[key][0] if key in VALUES
    else vs.Any(str, [str]) for key, doc in DOCS.items()})


def acceptNode(entry):
    """Like :func:`validateNode`, but for what is in ZooKeeper already.

    Zuul's own driver does not look at host keys.  If a record with a bad
    one could not be read, no tenant would get nodes any more.  Such a
    node never passes the key scan.
    """
    normalizeNode(entry)
    for key, value in entry.items():
        if key in NAMES:
            continue
        if key not in VALUES:
            raise vs.Invalid(
                f'{describe(entry)} has {quote(str(key))}, which nodes do not '
                f'have. {suggest(key, (*NAMES, *VALUES))}')
        schema, words = VALUES[key]
        try:
            vs.Schema(schema)(value)
        except vs.Invalid:
            raise vs.Invalid(
                f'{describe(entry)}: "{key}" is {words}') from None
    return entry


class StaticNodeConfig(staticprovider.StaticNodeConfig):
    """A node of a provider.

    :param dict node_config: an entry in Zuul's spelling, with what the
        node's label says over its image.
    :param dict provider_config: the flat configuration.
    :ivar list host_keys: what ``host-key`` says, as Zuul's records have
        host keys; empty if it says nothing.
    :ivar int slots: how many jobs may use it at the same time, when all is
        inherited.
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
        """What entries of the same machine have in common, also in several
        providers; when all is inherited."""
        return (addresses.normalizeHost(self.name), self.connection_port,
                self.username)

    def inheritFrom(self, image, flavor):
        """Take what the node does not say from its label's image.

        Nodes of another connection type than the image have the port of
        that type.
        """
        if (self.connection_port is None and self.connection_type is not None
                and self.connection_type != image.connection_type):
            self.connection_port = DEFAULT_PORTS[self.connection_type]
        self._fillIn(IMAGE_ATTRIBUTES, image)
        if self.connection_type in WITHOUT_PORT:
            self.connection_port = None

    def inheritFromLabel(self, label):
        """Take what the node does not say from its label."""
        self._fillIn(LABEL_ATTRIBUTES, label)
        self.slots = self.max_parallel_jobs or label.slots or 1
        if self.max_parallel_jobs is not None:
            # Records of slots are not changed, so another number has others.
            self.node_id = uuid.uuid5(staticprovider.NODE_NAMESPACE, (
                f'{self.node_id} {self.max_parallel_jobs}')).hex

    def isCurrent(self, node):
        """
        :param ProviderNode node: the node, created by some definition.
        :return: whether its record says what this definition says.
        """
        if any(getattr(node, name) != getattr(self, name)
               for name in RECORDED):
            return False
        # Without any here, those of the scan count.
        return not self.host_keys or (
            bool(node.host_keys)
            and set(node.host_keys) <= set(self.host_keys))

    def _fillIn(self, keys, other):
        for name in map(_getAttribute, keys):
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))
