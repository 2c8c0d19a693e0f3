"""Convert labels: what jobs request."""

import functools

from zuul_nodes.cmd.migrate import faults, rules
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.rules import HANDLED, Place, To
from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin

# Attributes of label stanzas are the same with any driver.
STATIC = 'static'
OLD = rules.lost('Nodepool since version 3 does not read it')
LABEL = {
    'name': HANDLED,
    'min-ready': To(Place.LABEL_STANZA),
    'max-ready-age': To(Place.LABEL_STANZA),
    'image': OLD,
    'provides': OLD,
    'providers': OLD,
    'ready-script': OLD,
}


def convert(site, clouds, images, flavors, metastatic, report):
    """
    :param dict images, flavors: name of a label -> name of its image or
        flavor.
    :param dict metastatic: name of a label -> further attributes.
    :return: list of the stanzas, as Mapping.
    """
    offers = {}
    for offer in clouds.offers:
        offers.setdefault(offer.label, offer)
    stanzas = []
    for name in dict.fromkeys((*site.labels, *offers)):
        label = site.labels.get(name)
        if name not in offers:
            if label.get('min-ready') != -1:
                report.add(
                    Kind.LOST, 'No pool offers the label, so it is left out',
                    label.origin, f'label {name}')
            continue
        if label is None:
            label = Mapping({'name': name}, offers[name].origin)
            report.add(
                Kind.DECIDE, 'Pools offer the label, and "labels" does not '
                'have it: it has no min-ready', label.origin, f'label {name}')
        stanzas.append(_makeStanza(
            name, label, images, flavors, metastatic, report))
    return stanzas


def _makeStanza(name, label, images, flavors, metastatic, report):
    parts = rules.convert(
        LABEL, label, f'label {name}', report,
        find_fault=functools.partial(faults.find, STATIC))
    stanza = Mapping(origin=label.origin)
    stanza.put('name', name, getOrigin(label, 'name'))
    if name in images:
        stanza.put('image', images[name])
    if name in flavors:
        stanza.put('flavor', flavors[name])
    stanza.take(parts[Place.LABEL_STANZA])
    stanza.take(metastatic.get(name, {}))
    report.add(Kind.DONE, 'A label keeps its name', label.origin,
               f'label {name}')
    if stanza.get('min-ready'):
        report.add(
            Kind.CHANGED, '"min-ready" counts for each tenant, unless tenants '
            'share the provider', getOrigin(stanza, 'min-ready'),
            f'label {name}')
    return stanza


def removeDisabled(site, clouds, report):
    """Remove the labels that ``min-ready: -1`` disables."""
    for name, label in site.labels.items():
        if label.get('min-ready') != -1:
            continue
        report.add(
            Kind.LOST, '"min-ready: -1" disables the label in Nodepool, so '
            'it is left out', getOrigin(label, 'min-ready'), f'label {name}')
        for offer in [each for each in clouds.offers if each.label == name]:
            clouds.offers.remove(offer)
            offer.pool.labels.pop(name, None)
            offer.pool.nodes[:] = [
                node for node in offer.pool.nodes
                if _dropLabel(node, name)]


def _dropLabel(node, name):
    """:return: whether a static node has another label."""
    node['labels'] = [each for each in node['labels'] if each != name]
    return bool(node['labels'])
