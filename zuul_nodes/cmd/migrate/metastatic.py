"""Convert the providers of the driver ``metastatic``.

Its labels become labels with slots, with the image and the flavor of the
label that backs them, in the pools of that label.
"""

from zuul_nodes.cmd.migrate.drivers import common
from zuul_nodes.cmd.migrate.parts import Offer
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.rules import (
    HANDLED,
    Place,
    To,
    convert,
    decide,
    lost,
)
from zuul_nodes.cmd.migrate.site import iterateObjects
from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin

PROVIDER = {
    **{name: lost('that of the pools of the backing label counts')
       for name in common.PROVIDER},
    'name': HANDLED,
    'driver': HANDLED,
    'pools': HANDLED,
}
POOL = {
    'name': HANDLED,
    'labels': HANDLED,
    'priority': lost('that of the pools of the backing label counts'),
    'node-attributes': decide('write them at the pools of the backing label'),
    'max-servers': decide(
        'it counts slots in Nodepool; "max-nodes" of a label is the like, '
        'for each tenant'),
    'host-key-checking': HANDLED,
}
LABEL = {
    'name': HANDLED,
    'backing-label': HANDLED,
    'host-key-checking': HANDLED,
    'max-parallel-jobs': To(Place.LABEL_STANZA, 'slots'),
    'grace-time': To(
        Place.LABEL_STANZA, 'max-ready-age',
        changes='"max-ready-age" is the nearest: an unused node goes after '
                'that time, and 0 means that it stays'),
    'min-retention-time': To(Place.LABEL_STANZA),
    'max-age': To(Place.LABEL_STANZA),
}
# Seconds that an unused machine stays in Nodepool.
GRACE_TIME = 60


def addProvider(clouds, provider, report):
    """
    :param Clouds clouds: has all offers of other providers; receives those
        of the labels of this one.
    :return: name of a label -> Mapping of attributes for its stanza.
    """
    convert(PROVIDER, provider.attributes, f'provider {provider.name}',
            report)
    stanzas = {}
    for pool in provider.pools.values():
        convert(POOL, pool, f'pool {provider.name}/{pool["name"]}', report)
        for label, origin in iterateObjects(
                pool.get('labels'), getOrigin(pool, 'labels'),
                f'"labels" of the pool "{pool["name"]}"'):
            stanza = _addLabel(clouds, pool, label, origin, report)
            if stanza is not None:
                stanzas[label['name']] = stanza
    return stanzas


def _addLabel(clouds, pool, label, origin, report):
    name, backing = label['name'], str(label.get('backing-label'))
    subject = f'label {name}'
    offers = [offer for offer in clouds.offers if offer.label == backing]
    if not offers:
        report.add(
            Kind.DECIDE, f'No pool offers the backing label "{backing}", so '
            f'the label is left out', origin, subject)
        return None
    check = label.get('host-key-checking',
                      pool.get('host-key-checking', False))
    for offer in offers:
        entry = Mapping(origin=origin)
        entry.take(offer.pool.labels[backing])
        entry.put('host-key-checking', check)
        offer.pool.labels[name] = entry
        clouds.offers.append(Offer(name, offer.pool, origin, offer.flavor,
                                   offer.image))
    stanza = convert(LABEL, label, subject, report)[Place.LABEL_STANZA]
    stanza.setdefault('slots', 1)
    stanza.put('reuse', True)
    stanza.setdefault('max-ready-age', GRACE_TIME)
    report.add(
        Kind.CHANGED, 'Labels of the driver metastatic become labels with '
        '"slots", in the pools of the backing label; each job has a slot, '
        'and no node of its own', origin, subject)
    return stanza
