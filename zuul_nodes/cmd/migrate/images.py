"""Give each label one image, under one name in all clouds."""

import collections

from zuul_nodes.cmd.migrate import parts
from zuul_nodes.cmd.migrate.parts import CLOUD, ZUUL
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import Mapping


def choose(clouds, report):
    """Choose the images of labels, and write entries for invented ones.

    :param Clouds clouds: offers that cannot be expressed are removed.
    :return: (name of a label -> name of its image, name of an image -> its
        type).
    """
    types = {}
    for section in clouds.sections:
        for name, image_type in section.types.items():
            # One entry of another type may be in a section.
            if types.get(name) != ZUUL:
                types[name] = image_type
    chosen = {}
    for label in dict.fromkeys(offer.label for offer in clouds.offers):
        offers = [offer for offer in clouds.offers
                  if offer.label == label and offer.image]
        names = dict.fromkeys(offer.image for offer in offers)
        if len({name for _, name in names}) == 1:
            chosen[label] = offers[0].image[1]
        elif names:
            chosen[label] = _unite(clouds, label, offers, types, report)
    for section in clouds.sections:
        for name, image_type in section.types.items():
            if image_type != types[name]:
                section.images[name]['type'] = image_type
    return chosen, types


def _unite(clouds, label, offers, types, report):
    """:return: one name for the images of a label, which differ."""
    built = collections.Counter(
        name for image_type, name in (offer.image for offer in offers)
        if image_type == ZUUL)
    if len(built) > 1:
        _leaveOut(clouds, label, offers, built, report)
        offers = [offer for offer in offers if offer in clouds.offers]
    name = _findName(offers, built) or (
        label if label not in types else f'{label}-image')
    types.setdefault(name, CLOUD)
    entries = {offer: _copy(offer, types[name]) for offer in offers
               if offer.image[1] != name}
    parts.place('images', name, entries)
    for offer in offers:
        report.add(
            Kind.DONE, f'The label has different images in Nodepool; the '
            f'image "{name}" stands for all of them', offer.origin,
            f'label {label}')
    return name


def _findName(offers, built):
    """:return: the name of one of the images that is free elsewhere.

    :param built: names of the disk images among them.
    """
    names = collections.Counter(offer.image[1] for offer in offers)
    for name in [*built, *(name for name, _ in names.most_common())]:
        if all(offer.image[1] == name
               or name not in offer.pool.section.images
               for offer in offers):
            return name
    return None


def _copy(offer, image_type):
    """
    :param image_type: of the stanza of the new name.
    :return: the entry for the image of an offer, for another name.
    """
    entry = Mapping()
    if offer.image[0] != image_type:
        entry['type'] = offer.image[0]
    entry.take(offer.pool.section.images[offer.image[1]])
    return entry


def _leaveOut(clouds, label, offers, built, report):
    kept = built.most_common(1)[0][0]
    for offer in offers:
        image_type, name = offer.image
        if image_type == ZUUL and name != kept:
            clouds.offers.remove(offer)
            del offer.pool.labels[label]
            report.add(
                Kind.DECIDE, f'The label has several disk images in '
                f'Nodepool, and one in zuul-nodes, "{kept}": it is left out '
                f'of the pools with another one. Have the job build one '
                f'image for all, or make two labels', offer.origin,
                f'label {label}')
