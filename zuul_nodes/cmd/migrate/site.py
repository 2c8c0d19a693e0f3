"""The site: what all files of Nodepool define together."""

import dataclasses

from zuul_nodes.cmd.migrate import generations
from zuul_nodes.cmd.migrate.ancestry import flatten
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import (
    NOWHERE,
    Mapping,
    Origin,
    getOrigin,
    iterate,
)
from zuul_nodes.exceptions import UserError

# Two definitions of a provider have to agree on these.
IDENTITY = ('driver', 'cloud', 'region-name', 'region', 'context', 'project',
            'profile-name', 'location')
# Attributes of a disk image without which nothing can be built.
CONTENT = ('elements', 'env-vars', 'dib-cmd')


@dataclasses.dataclass
class Provider:
    """A provider of Nodepool.

    :ivar Mapping attributes: without ``pools``.
    :ivar dict pools: name -> Mapping.
    """
    name: str
    driver: str
    attributes: Mapping
    origin: Origin
    pools: dict = dataclasses.field(default_factory=dict)

    @property
    def diskimages(self):
        return list(iterateObjects(
            self.attributes.get('diskimages'),
            getOrigin(self.attributes, 'diskimages'),
            f'"diskimages" of the provider "{self.name}"'))


@dataclasses.dataclass
class Site:
    """
    :ivar dict settings: name of a top-level attribute -> [(value, Origin)].
    :ivar dict labels: name -> Mapping, merged over all files.
    :ivar dict diskimages: name -> Mapping, without abstract ones, and with
        what they have of their parents.
    :ivar dict providers: name -> :class:`Provider`.
    """
    settings: dict = dataclasses.field(default_factory=dict)
    labels: dict = dataclasses.field(default_factory=dict)
    diskimages: dict = dataclasses.field(default_factory=dict)
    providers: dict = dataclasses.field(default_factory=dict)

    def getSetting(self, name):
        """:return: (value, Origin) of the first file that has it."""
        return self.settings.get(name, [(None, NOWHERE)])[0]


def load(sources, report):
    """
    :param sources: list of :class:`~reading.Source`.
    :param Report report:
    :return: a :class:`Site`.
    :raises UserError: the files contradict each other, or define nothing.
    """
    site = Site()
    for source in sources:
        generations.check(source)
        for text, origin in source.warnings:
            report.add(Kind.CHANGED, text, origin)
        _addFile(site, source, report)
    if not site.providers and not any(map(isDefined,
                                          site.diskimages.values())):
        generations.refuseFragment(sources)
    return site


def isDefined(diskimage):
    """:return: whether a disk image says how it is built."""
    return any(diskimage.get(name) for name in CONTENT)


def _addFile(site, source, report):
    for name, value in source.root.items():
        site.settings.setdefault(name, []).append(
            (value, getOrigin(source.root, name)))
    seen = set()
    for provider, origin in iterateNamed(source, 'providers'):
        _refuseTwice(seen, 'provider', provider['name'], origin)
        seen.add(provider['name'])
        _addProvider(site, provider, origin, report)
    for label, origin in iterateNamed(source, 'labels'):
        _addLabel(site, label, origin, report)
    images = {}
    for image, origin in iterateNamed(source, 'diskimages'):
        image.origin = origin
        images[image['name']] = image
    # A builder knows the parents in its own file only.
    for image in images.values():
        if not image.get('abstract'):
            _addDiskimage(site, flatten(image, images, report))


def iterateNamed(source, key):
    """:return: yields (mapping, Origin) of a list of objects with names.

    :raises UserError: the value is anything else.
    """
    value = source.root.get(key)
    where = getOrigin(source.root, key)
    yield from iterateObjects(value, where, f'"{key}"')


def iterateObjects(value, where, words):
    """:return: yields (mapping, Origin).

    :param where: Origin of the list.
    :param words: what the list is called in the message.
    """
    if value is not None and not isinstance(value, list):
        raise UserError(f'{where}: {words} must be a list')
    for each, origin in iterate(value):
        name = each.get('name') if isinstance(each, Mapping) else None
        if not isinstance(name, str | int | float) or name == '':
            raise UserError(f'{origin}: an entry of {words} needs a "name"')
        if not isinstance(name, str):
            each['name'] = str(name)
        yield each, origin


def _refuseTwice(seen, kind, name, origin):
    if name in seen:
        raise UserError(f'{origin} defines the {kind}, "{name}", a second '
                        f'time; give one of them another name')


def _addProvider(site, attributes, origin, report):
    name = attributes['name']
    pools = {}
    for pool, where in iterateObjects(
            attributes.get('pools'), getOrigin(attributes, 'pools'),
            f'"pools" of the provider "{name}"'):
        _refuseTwice(pools, f'pool of the provider "{name}"',
                     pool['name'], where)
        pool.origin = where
        pools[pool['name']] = pool
    provider = Provider(name, str(attributes.get('driver') or 'openstack'),
                        attributes, origin, pools)
    known = site.providers.get(name)
    site.providers[name] = (
        _merge(known, provider, report) if known else provider)


def _merge(first, second, report):
    """:return: one provider of two files: of a builder and a launcher."""
    for name in IDENTITY:
        one, other = first.attributes.get(name), second.attributes.get(name)
        if one != other and None not in (one, other):
            raise UserError(
                f'{second.origin} defines the provider "{first.name}", which '
                f'{first.origin} defines with another "{name}"; give one of '
                f'them another name')
    for name in first.pools.keys() & second.pools.keys():
        if first.pools[name] != second.pools[name]:
            raise UserError(
                f'{second.pools[name].origin} defines the pool "{name}" of '
                f'the provider "{first.name}" differently from '
                f'{first.pools[name].origin}; give one of them another name')
    # The launcher's file has pools; the builder's has all disk images.
    weak, strong = ((first, second) if second.pools or not first.pools
                    else (second, first))
    merged = Mapping(origin=strong.attributes.origin)
    merged.take(weak.attributes)
    for name, value in strong.attributes.items():
        origin = getOrigin(strong.attributes, name)
        if name == 'diskimages' and weak.diskimages:
            merged.put(name, _mergeImages(weak.attributes[name], value),
                       origin)
            continue
        if merged.get(name, value) != value and name != 'pools':
            report.add(
                Kind.CHANGED, f'Files differ in "{name}": the value of the '
                f'file with pools is taken', origin,
                f'provider {first.name}')
        merged.put(name, value, origin)
    return Provider(first.name, first.driver, merged, strong.origin,
                    {**first.pools, **second.pools})


def _mergeImages(first, second):
    """:return: the union of two lists ``diskimages`` of a provider."""
    merged = type(first)(origin=first.origin)
    places = {}
    for images in (first, second):
        for each, origin in iterate(images):
            name = each.get('name') if isinstance(each, Mapping) else None
            if name in places:
                both = Mapping(origin=merged[places[name]].origin)
                both.take(merged[places[name]])
                both.take(each)
                merged[places[name]] = both
                continue
            places[name] = len(merged)
            merged.add(each, origin)
    return merged


def _addLabel(site, label, origin, report):
    known = site.labels.get(label['name'])
    if known is None:
        label.origin = origin
        site.labels[label['name']] = label
        return
    for name in ('min-ready', 'max-ready-age'):
        if name not in label:
            continue
        if known.get(name, label[name]) != label[name]:
            report.add(
                Kind.CHANGED, f'Files differ in "{name}" of a label: the '
                f'highest value is taken', getOrigin(label, name),
                f'label {label["name"]}')
        if name not in known or _isHigher(label[name], known[name]):
            known.put(name, label[name], getOrigin(label, name))


def _isHigher(value, other):
    return (isinstance(value, int | float) and isinstance(other, int | float)
            and value > other)


def _addDiskimage(site, image):
    known = site.diskimages.get(image['name'])
    if known is None or (isDefined(image) and not isDefined(known)):
        if known is not None:
            # The place in the order stays.
            for name in known.keys() - image.keys():
                image.put(name, known[name], getOrigin(known, name))
        site.diskimages[image['name']] = image
    elif isDefined(image) and image != known:
        raise UserError(
            f'{image.origin} defines the diskimage "{image["name"]}" '
            f'differently from {known.origin}; give one of them another name')
    else:
        for name in image.keys() - known.keys():
            known.put(name, image[name], getOrigin(image, name))
