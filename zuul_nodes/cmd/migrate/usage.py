"""What the records of Nodepool mean for a move."""

import collections

# A node in another state than these is about to be launched or deleted.
STATES = ('ready', 'in-use', 'hold')


def summarize(records, offers):
    """
    :param dict records: from :func:`nodepoolrecords.read`.
    :param dict offers: from :func:`nodepoolrecords.readOffers`.
    :return: the records, with ``labels`` and ``providers`` added.
    """
    return {'labels': list(_makeLabels(records, offers)),
            'providers': list(_makeProviders(records)), **records}


def isEmpty(records):
    """:return: whether Nodepool has written nothing."""
    return not any(records.values())


def countStates(nodes):
    """:return: state -> number; those not in :data:`STATES` are "other"."""
    counts = dict.fromkeys((*STATES, 'other'), 0)
    for node in nodes:
        counts[node['state'] if node['state'] in STATES else 'other'] += 1
    return counts


def _makeLabels(records, offers):
    pools = collections.defaultdict(list)
    for pool in records['pools']:
        for label in pool['supported_labels'] or ():
            pools[label].append(pool)
    nodes, requests = (_groupByLabel(records[kind])
                       for kind in ('nodes', 'requests'))
    for label in sorted({*pools, *nodes, *requests}):
        yield {
            'label': label,
            # Several launchers may serve the same pool.
            'pools': sorted({_getPoolName(pool) for pool in pools[label]}),
            'nodes': countStates(nodes[label]),
            'requests': len(requests[label]),
            'tenants': offers.get(label, []),
        }


def _groupByLabel(records):
    found = collections.defaultdict(list)
    for record in records:
        for label in dict.fromkeys(record['labels']):
            found[label].append(record)
    return found


def _getPoolName(pool):
    return f'{pool["provider_name"]}/{pool["name"]}'


def _makeProviders(records):
    """:return: yields what other users of the same clouds see."""
    nodes = collections.defaultdict(list)
    for node in records['nodes']:
        nodes[node['provider'] or ''].append(node)
    names = {pool['provider_name'] for pool in records['pools']}
    for name in sorted({*nodes, *names}):
        usage = collections.Counter()
        for node in nodes[name]:
            if not node['is_slot']:
                usage.update(node['resources'] or {})
        yield {'provider': name, 'nodes': countStates(nodes[name]),
               'usage': dict(usage)}
