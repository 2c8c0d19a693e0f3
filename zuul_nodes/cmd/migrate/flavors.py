"""Invent flavors: names for sizes that clouds call differently."""

import dataclasses
import re

from zuul_nodes.cmd.migrate import faults, parts
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import Mapping

# Attributes that name a size in a cloud.
SIZES = ('flavor-name', 'instance-type', 'machine-type', 'vm-size')
MISSING = 'REPLACE_ME_FLAVOR'
GIB = 1024


@dataclasses.dataclass
class Group:
    """Labels that have the same size wherever they are.

    :ivar dict offers: :class:`Offer` -> attributes of the flavor.
    """
    labels: list
    offers: dict
    name: str = ''

    @property
    def sizes(self):
        """:return: pool -> attributes."""
        return {offer.pool: attributes
                for offer, attributes in self.offers.items()}

    def fits(self, other):
        """:return: whether both have a pool in common, and never differ."""
        mine, others = self.sizes, other.sizes
        common = mine.keys() & others.keys()
        return bool(common) and all(
            mine[pool] == others[pool] for pool in common)


def choose(offers, report):
    """Give each label a flavor, and write the entries for the flavors.

    :param offers: list of :class:`Offer`.
    :return: (name of a label -> name of its flavor, list of the names in
        order).
    """
    groups = []
    for label in dict.fromkeys(offer.label for offer in offers
                               if offer.flavor is not None):
        group = Group([label], {
            offer: _complete(offer, report) for offer in offers
            if offer.label == label and offer.flavor is not None})
        for known in groups:
            if known.fits(group):
                known.labels += group.labels
                known.offers |= group.offers
                break
        else:
            groups.append(group)
    _name(groups)
    for group in groups:
        parts.place('flavors', group.name, group.offers)
        _report(group, report)
    return ({label: group.name for group in groups for label in group.labels},
            [group.name for group in groups])


def _complete(offer, report):
    if offer.flavor:
        return offer.flavor
    report.add(Kind.DECIDE, f'The label says no size; write one in place of '
               f'{MISSING}', offer.origin, f'label {offer.label}')
    return Mapping({faults.findKnown(
        offer.pool.section.driver.driver, SIZES): MISSING})


def _report(group, report):
    names = {_getSize(attributes) for attributes in group.offers.values()}
    if len(names) > 1:
        for offer in group.offers:
            report.add(
                Kind.DONE, f'The flavor "{group.name}" was invented, for the '
                f'clouds call it differently; rename it if you have a better '
                f'name', offer.origin, f'label {offer.label}')


def _name(groups):
    taken = set()
    # The simplest name goes to the most used one.
    for group in sorted(groups, key=lambda each: -len(each.labels)):
        rest = [label for other in groups if other is not group
                for label in other.labels]
        name = next(each for each in _suggest(group, rest)
                    if each not in taken)
        taken.add(name)
        group.name = name


def _suggest(group, others):
    """:return: yields names for a flavor, the best first, without end."""
    attributes = list(group.offers.values())
    names = list(dict.fromkeys(_getSize(each) for each in attributes))
    words = _getCommonWords(group.labels, others)
    if len(names) == 1 and names[0] and not any(
            'min-ram' in each for each in attributes):
        yield names[0]
    rams = {each['min-ram'] for each in attributes
            if isinstance(each.get('min-ram'), int)}
    if rams:
        ram = f'{round(max(rams) / GIB) or 1}gb'
        yield ram
        if words:
            yield f'{words}-{ram}'
        yield f'{max(rams)}mb'
    if len(group.labels) == 1:
        yield group.labels[0]
    if words:
        yield words
    base = names[0] or 'standard'
    if len(names) > 1:
        yield 'standard'
        base = 'standard'
    yield base
    number = 2
    while True:
        yield f'{base}-{number}'
        number += 1


def _getSize(attributes):
    size = next((attributes[name] for name in SIZES if name in attributes),
                None)
    return str(size) if size is not None else ''


def _getCommonWords(labels, others):
    """:return: the words that all labels have and no other label has, as
        ``nested-virt``."""
    first, *rest = [label.split('-') for label in labels]
    common = [word for word in first if all(word in each for each in rest)]
    if len(labels) == 1:
        return ''
    own = [word for word in common
           if not any(word in other.split('-') for other in others)]
    return '-'.join(own if any(re.search('[a-z]', word) for word in own)
                    else ())
