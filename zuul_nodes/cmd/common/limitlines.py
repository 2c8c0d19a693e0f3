"""The limits of tenants, beside a list of what they limit."""

from zuul_nodes import nodeusage, tenantlimits


def read(client, nodes):
    """
    :param KazooClient client: may be read-only.
    :param nodes: records of all nodes, with the parts ``assignment``.
    :return: dict, name of a tenant with limits -> as of
        :func:`.nodeusage.describeTenant`, of the limited resources alone.
    """
    used = nodeusage.sumUpTenants(nodes)
    return {
        name: nodeusage.describeTenant({
            resource: used[name][resource] for resource in limits}, limits)
        for name, limits in tenantlimits.readAll(client).items()}


def choose(limits, tenants):
    """
    :param dict limits: as of :func:`read`.
    :param tenants: names of those that have what is listed.
    :return: dict, the limits of these tenants, sorted by name.
    """
    return {name: limits[name] for name in sorted(set(tenants) & set(limits))}


def format(items):
    """
    :param items: dicts that are listed, with ``tenant_limits``.
    :return: a list of lines, one for each tenant.
    """
    found = {}
    for item in items:
        found |= item['tenant_limits']
    return [f'Tenant {name} uses ' + ', '.join(
        f'{each["used"]:g} of {each["limit"]:g} {resource}'
        for resource, each in resources.items())
        for name, resources in sorted(found.items())]
