"""Put together the stanzas of images to providers, in their final order."""

from zuul_nodes.cmd.migrate import parts
from zuul_nodes.cmd.migrate.parts import ZUUL
from zuul_nodes.cmd.migrate.tree import (
    NOWHERE,
    Mapping,
    Sequence,
    getOrigin,
)


def wrap(kind, stanza, origin=NOWHERE):
    """:return: a stanza as an entry of a file."""
    entry = Mapping()
    entry.put(kind, stanza)
    return entry, origin


def makeFile(kind, stanzas):
    """
    :param str kind: such as ``label``.
    :param stanzas: list of Mapping.
    :return: the content of a file.
    """
    content = Sequence()
    for stanza in stanzas:
        content.add(*wrap(kind, stanza, stanza.origin))
    return content


def makeSections(clouds, connections):
    """
    :param dict connections: name of a section -> name of its connection.
    :return: list of the stanzas.
    """
    return [_makeSection(section, connections.get(section.name))
            for section in clouds.sections]


def _makeSection(section, connection):
    stanza = Mapping(origin=section.origin)
    stanza.put('name', section.name)
    stanza.put('connection', connection)
    stanza.take(section.attributes)
    images = _makeEntries(section.images)
    parts.hoist(images, section.image_defaults, parts.OF_IMAGES)
    if 'config-drive' in section.image_defaults:
        # In "image-defaults" it is not for images of the type "cloud".
        stanza.put('config-drive', section.image_defaults['config-drive'],
                   getOrigin(section.image_defaults, 'config-drive'))
        del section.image_defaults['config-drive']
    _putDefaults(stanza, section, ('label', 'image'))
    _putEntries(stanza, 'images', images)
    _putEntries(stanza, 'flavors', _makeEntries(section.flavors))
    return stanza


def makeProviders(clouds):
    """:return: list of the stanzas."""
    return [_makeProvider(pool) for pool in clouds.pools]


def _makeProvider(pool):
    stanza = Mapping(origin=pool.origin)
    stanza.put('name', pool.name)
    stanza.put('section', pool.section.name)
    stanza.take(pool.attributes)
    if pool.limits:
        stanza.put('resource-limits', pool.limits)
    labels = _makeEntries(pool.labels)
    parts.hoist(labels, pool.label_defaults, parts.OF_LABELS)
    _putDefaults(stanza, pool, ('label', 'flavor'))
    _putEntries(stanza, 'images', _makeEntries(pool.images))
    _putEntries(stanza, 'flavors', _makeEntries(pool.flavors))
    if pool.nodes:
        stanza.put('nodes', pool.nodes)
    stanza.put('labels', _shorten(labels))
    return stanza


def _putDefaults(stanza, part, kinds):
    for kind in kinds:
        defaults = getattr(part, f'{kind}_defaults')
        if defaults:
            stanza.put(f'{kind}-defaults', defaults)


def _makeEntries(attributes_of):
    entries = []
    for name, attributes in attributes_of.items():
        entry = Mapping(origin=attributes.origin)
        entry.put('name', name)
        entry.take(attributes)
        entries.append(entry)
    return entries


def _putEntries(stanza, key, entries):
    if entries:
        stanza.put(key, _shorten(entries))


def _shorten(entries):
    """:return: a list in which entries that have only a name are names."""
    shortened = Sequence()
    for entry in entries:
        shortened.add(entry['name'] if len(entry) == 1 else entry,
                      entry.origin)
    return shortened


def makeImages(types, site, clouds):
    """
    :param dict types: name of an image -> its type.
    :return: list of the stanzas of images that sections or labels have.
    """
    used = {name for part in (*clouds.sections, *clouds.pools)
            for name in part.images}
    stanzas = []
    order = [*(name for name in site.diskimages if name in types),
             *(name for name in types if name not in site.diskimages)]
    for name in order:
        if name not in used:
            continue
        source = site.diskimages.get(name, Mapping())
        stanza = Mapping(origin=source.origin)
        stanza.put('name', name)
        stanza.put('type', types[name])
        if types[name] == ZUUL:
            stanza.put('username', source.get('username') or 'zuul',
                       getOrigin(source, 'username'))
            for key in ('python-path', 'shell-type'):
                if source.get(key):
                    stanza.put(key, source[key], getOrigin(source, key))
            if isinstance(source.get('metadata'), Mapping):
                tags = Mapping({key: str(value) for key, value
                                in source['metadata'].items()})
                stanza.put('tags', tags, getOrigin(source, 'metadata'))
        stanzas.append(stanza)
    return stanzas


