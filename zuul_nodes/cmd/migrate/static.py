"""Convert the providers of static nodes."""

from zuul_nodes.cmd.migrate import faults, nodeattributes
from zuul_nodes.cmd.migrate.drivers import common
from zuul_nodes.cmd.migrate.parts import Offer, Pool, Section
from zuul_nodes.cmd.migrate.rules import (
    HANDLED,
    Place,
    To,
    convert,
    lost,
)
from zuul_nodes.cmd.migrate.site import iterateObjects
from zuul_nodes.cmd.migrate.tree import Sequence, getOrigin, iterate

USER = 'zuul'


def splitLabels(value):
    """:return: list of labels; a text may have several."""
    if isinstance(value, str):
        return Sequence(value.split())
    return Sequence(map(str, value))


PROVIDER = {
    **{name: lost('it means nothing to static nodes')
       for name in common.PROVIDER},
    'name': HANDLED,
    'driver': HANDLED,
    'pools': HANDLED,
    'priority': To(Place.SECTION),
}
POOL = {
    **common.POOL,
    'nodes': HANDLED,
    'max-servers': lost('each node counts by itself'),
}
NODE = {
    'name': To(Place.LABEL),
    'labels': To(Place.LABEL, convert=splitLabels),
    'timeout': To(Place.LABEL, 'boot-timeout'),
    'host-key': To(Place.LABEL),
    'ssh-port': To(Place.LABEL, 'connection-port'),
    **{name: To(Place.LABEL) for name in (
        'username', 'connection-port', 'connection-type', 'shell-type',
        'python-path', 'host-key-checking', 'max-parallel-jobs')},
}


def addProvider(clouds, provider, report):
    """
    :param Clouds clouds: receives the new objects.
    :param Provider provider: of Nodepool.
    """
    parts = convert(PROVIDER, provider.attributes,
                    f'provider {provider.name}', report)
    section = Section(provider.name, None, provider.origin,
                      parts[Place.SECTION])
    clouds.sections.append(section)
    for pool in provider.pools.values():
        name = (provider.name if len(provider.pools) == 1
                else f'{provider.name}-{pool["name"]}')
        subject = f'pool {provider.name}/{pool["name"]}'
        parts = convert(POOL, pool, subject, report)
        new = Pool(name, section, pool.origin, parts[Place.PROVIDER])
        nodeattributes.convert(pool, new, subject, report)
        clouds.pools.append(new)
        for node, origin in iterateObjects(
                pool.get('nodes'), getOrigin(pool, 'nodes'),
                f'"nodes" of the {subject}'):
            _addNode(clouds, new, node, origin, report)


def _addNode(clouds, pool, node, origin, report):
    attributes = convert(
        NODE, node, f'node {node["name"]}', report,
        find_fault=faults.findInNode)[Place.LABEL]
    attributes.setdefault('username', USER)
    pool.nodes.add(attributes, origin)
    for label, _ in iterate(attributes.get('labels')):
        if label not in pool.labels:
            pool.labels[label] = type(attributes)()
            clouds.offers.append(Offer(label, pool, origin))
