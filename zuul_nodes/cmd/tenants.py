"""``zuul-nodes tenants``: lists what the nodes of each tenant use."""

import collections

from zuul_nodes import nodeusage, requestlist, tenantlimits, zuulconf
from zuul_nodes.cmd.common import output

DESCRIPTION = '''\
List the tenants: how many nodes their requests wait for and have, what these
use at all providers together, and how much the tenant may use
("tenant_limits" in "[launcher]" of zuul.conf).  The launcher that plans
records these limits.

Ready nodes without a request belong to no tenant.

The command only reads ZooKeeper.  It runs beside a running Zuul and uses its
zuul.conf.'''

COLUMNS = ('Tenant', 'Waiting', 'Building', 'In use', 'Resource', 'Used',
           'Limit')
WIDTHS = {'Tenant': 24}


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    parser.add_argument('--tenant', help='only this tenant')


def run(args):
    from zuul_nodes.cmd.common.readonly import connected
    with connected(zuulconf.read(args.config)) as zookeeper:
        tenants = readTenants(zookeeper.client)
    tenants = [each for each in tenants
               if args.tenant in (None, each['tenant'])]
    if args.format == 'json':
        print(output.formatJSON(tenants))
    else:
        print(output.formatTable(
            COLUMNS, [row for each in tenants for row in getRows(each)],
            WIDTHS))
    return 0


def readTenants(client):
    """
    :param KazooClient client: may be read-only.
    :return: a list of dicts, for each tenant one, sorted by name.
    """
    from zuul_nodes.cmd.common import offers, zkobjects
    nodes = zkobjects.readAll(client, offers.NODES, ['assignment'])
    requests = zkobjects.readAll(client, requestlist.REQUESTS)
    used = nodeusage.sumUpTenants(nodes)
    limits = tenantlimits.readAll(client)
    waiting = collections.Counter()
    for request in requests:
        if request['state'] == requestlist.WAITING:
            waiting[request['tenant_name']] += len(request['labels'])
    counts = collections.defaultdict(collections.Counter)
    for node in nodes:
        if name := node.get('tenant_name'):
            counts[name][nodeusage.getKind(node)] += 1
    names = {name for provider in offers.readProviders(client).values()
             for name in provider['tenants']}
    return [{
        'tenant': name, 'waiting': waiting[name],
        'building': counts[name]['building'], 'in_use': counts[name]['in_use'],
        'resources': nodeusage.describeTenant(
            used[name], limits.get(name, {})),
    } for name in sorted({*names, *waiting, *counts})]


def getRows(tenant):
    """:return: yields the cells of the table for a tenant."""
    first = (tenant['tenant'], tenant['waiting'], tenant['building'],
             tenant['in_use'])
    if not tenant['resources']:
        yield *first, '-', '-', '-'
    for resource, each in tenant['resources'].items():
        limit = each['limit']
        yield (*first, resource, f'{each["used"]:g}',
               '-' if limit is None else f'{limit:g}')
        first = ('',) * len(first)
