"""What nodes use of the limits, and how many there are of a label.

Records of nodes are dicts, as commands read them from ZooKeeper.  Services
that have Zuul's objects use :func:`toRecord`.
"""

import collections
from collections.abc import Iterable

from zuul_nodes import nodenotes

# State of a node -> what it counts as.
COUNTED = {
    'requested': 'building', 'building': 'building', 'ready': 'ready',
    'in-use': 'in_use', 'used': 'in_use', 'snapshot': 'in_use',
    'hold': 'hold', 'failed': 'failed', 'tempfailed': 'failed'}
COUNTS = ('ready', 'building', 'in_use', 'hold', 'failed')


def toRecord(node):
    """
    :param ProviderNode node:
    :return: a dict with what the functions of this module need.
    """
    return {
        'uuid': node.uuid, 'main_node_id': node.main_node_id,
        'tenant_name': node.tenant_name, 'provider': node.provider,
        'connection_name': node.connection_name,
        'endpoint_name': node.endpoint_name, 'label': node.label,
        'state': node.state, 'request_id': node.request_id,
        nodenotes.NOTES: nodenotes.get(node),
        'subnodes': node.subnodes,
        'quota': node.quota.getResources() if node.quota else None}


def countNodes(nodes):
    """
    :param nodes: records of nodes, with the parts ``assignment``.
    :return: dict, the names of a provider and of a label -> a dict of
        :data:`COUNTS`.  What is idle is ready, and what a request has is in
        use.
    """
    found = collections.defaultdict(lambda: dict.fromkeys(COUNTS, 0))
    for node in nodes:
        if kind := getKind(node):
            found[node['provider'], node['label']][kind] += 1
    return found


def getKind(node):
    """
    :param dict node: its record, with the part ``assignment``.
    :return: as which of :data:`COUNTS` it counts, or None.
    """
    # The slots of a host are the nodes that jobs use.
    if node.get('subnodes'):
        return None
    kind = COUNTED.get(node['state'])
    return 'in_use' if kind == 'ready' and node.get('request_id') else kind


def sumUp(nodes, sections):
    """
    :param nodes: records of nodes.
    :param dict sections: canonical name of a provider -> that of its section,
        for those that have one.
    :return: Counter, an account as of :func:`getAccount` and a resource -> how
        much of it the nodes use.
    """
    used = collections.Counter()
    for node in nodes:
        accounts = [('provider', node['provider']), (
            'endpoint', node['connection_name'], node['endpoint_name'])]
        if section := sections.get(node['provider']):
            accounts.append(('section', section))
        for resource, amount in (node['quota'] or {}).items():
            for account in accounts:
                used[account, resource] += amount
    return used


def shareOut(tenants: Iterable[str | None],
             owner: str | None) -> dict[str, float]:
    """Share out a machine among the tenants that use it.

    :param tenants: for each slot of the machine, the tenant of its request, or
        None; empty without slots.
    :param owner: the tenant that has the machine while no slot is in use; None
        if no tenant has it.
    :return: name of a tenant -> its part of the machine; their sum is 1.
    """
    users = collections.Counter(filter(None, tenants))
    if not users:
        return {owner: 1} if owner else {}
    number = users.total()
    return {name: slots / number for name, slots in users.items()}


def sumUpTenants(nodes):
    """
    :param nodes: records of nodes, with the parts ``assignment``.
    :return: dict, name of a tenant -> Counter, resource -> how much of it its
        nodes use: those of its requests, and idle ones that were launched for
        it.
    """
    slots = collections.defaultdict(list)
    for node in nodes:
        if host_id := node.get('main_node_id'):
            slots[host_id].append(node.get('tenant_name'))
    used = collections.defaultdict(collections.Counter)
    for node in nodes:
        if node.get('main_node_id'):
            continue
        owner = node.get('tenant_name') or nodenotes.getTenant(node)
        for name, share in shareOut(slots[node['uuid']], owner).items():
            for resource, amount in (node['quota'] or {}).items():
                used[name][resource] += amount * share
    return used


def describeTenant(used, limits):
    """
    :param used: resource -> how much of it a tenant uses.
    :param limits: resource -> how much of it the tenant may use.
    :return: dict, resource, sorted -> a dict of how much of it is ``used``,
        and the ``limit``, or None.
    """
    return {resource: {'used': used.get(resource, 0),
                       'limit': limits.get(resource)}
            for resource in sorted({*used, *limits})}


def getAccount(connection_name, limit):
    """
    :param connection_name: of the provider with the limit.
    :param dict limit: of a record of :mod:`.providerstatus`.
    :return: what has the limit.
    """
    kind, name = limit['kind'], limit['name']
    return ((kind, connection_name, name) if kind == 'endpoint'
            else (kind, name))
