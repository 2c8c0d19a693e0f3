"""What the planner alone costs, without ZooKeeper, clouds and threads.

Many tenants have the same providers, and many requests wait that each need
something else.  CPU time is given in milliseconds, and as the number of looks
into a dictionary of 10,000 entries that this machine does in the same time.
"""

import argparse
import collections
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import prettytable  # noqa: E402

from tests.fixtures.planning import (  # noqa: E402
    Endpoint,
    Label,
    Provider,
    World,
)
from zuul_nodes.launcher.planner.decisions import Wait  # noqa: E402
from zuul_nodes.launcher.providers import Scope  # noqa: E402

LOOKS = 10_000
# Of an endpoint; there are more nodes that are on hold.
LIMIT = 60


def timeCPU(function, rounds):
    """:return: the median of the milliseconds of CPU that a call takes."""
    taken = []
    for _ in range(rounds):
        begin = time.process_time()
        function()
        taken.append(time.process_time() - begin)
    return 1000 * statistics.median(taken)


def measureLook():
    """:return: the milliseconds of a look into a dictionary."""
    table = {f'node {number}': number for number in range(LOOKS)}
    keys = list(table)

    def look():
        for key in keys:
            table[key]
    return timeCPU(look, 25) / LOOKS


class Site:
    """Providers of many tenants without capacity, and requests that wait.

    :param int tenants: number of tenants; each has all providers.
    :param int providers: number of providers.
    :param int needs: number of waiting requests, each with needs of its own.
    :param int nodes: number of nodes, which use everything.
    """

    def __init__(self, tenants, providers, needs, nodes):
        self.endpoints = [Endpoint(f'region{number}', {'instances': LIMIT})
                          for number in range(providers)]
        self.labels = [f'label{number}' for number in range(20)]
        self.tenants = tenants
        self.scopes = []
        self.world = World(*self.makeProviders(), isAsked=lambda *args: True)
        for number in range(nodes):
            provider = self.world.providers[
                number % len(self.world.providers)]
            self.world.addNode(provider, self.labels[0], 'hold')
        for number in range(needs):
            tenant, kind = number % tenants, number // tenants
            count = 1 + kind // len(self.labels)
            labels = [self.labels[kind % len(self.labels)]] * count
            _, decision = self.world.request(
                *labels, tenant=f'tenant{tenant}')
            assert isinstance(decision, Wait), decision
        self.planner = self.world.planner

    def makeProviders(self, tenants=None):
        return [
            Provider(endpoint.name, *map(Label, self.labels),
                     endpoint=endpoint, tenant=f'tenant{tenant}')
            for tenant in range(tenants or self.tenants)
            for endpoint in self.endpoints]

    def prepareLayouts(self, number):
        """Prepare as many new layouts of the first tenant."""
        others = self.world.providers[len(self.endpoints):]
        for _ in range(number):
            providers = collections.defaultdict(list)
            for provider in (*self.makeProviders(1), *others):
                providers[provider.tenant_name].append(provider)
            self.scopes.append(Scope(providers))

    def readLayout(self):
        self.planner.setScope(self.scopes.pop())

    def tellSame(self):
        self.planner.limitsChanged([self.endpoints[0].name])

    def tellAllSame(self):
        self.planner.limitsChanged()

    def tellChange(self):
        limits = self.endpoints[0].limits
        limits['instances'] = 2 * LIMIT + 1 - limits['instances']
        self.planner.limitsChanged([self.endpoints[0].name])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--quick', action='store_true',
                        help='smaller sites and fewer rounds')
    args = parser.parse_args()
    look = measureLook()
    rounds = 3 if args.quick else 7
    table = prettytable.PrettyTable(
        ['Site', 'What', 'CPU (ms)', 'Looks into a dictionary'])
    table.align = 'l'
    sizes = [(10, 10, 50, 1000), (50, 50, 250, 5000)]
    if not args.quick:
        sizes += [(100, 20, 500, 10_000), (100, 50, 1000, 10_000)]
    for size in sizes:
        site = Site(*size)
        site.prepareLayouts(rounds + 1)
        name = 'T{} P{} L{} N{}'.format(*size)
        for what, function in (
                ('one provider is told, nothing changed', site.tellSame),
                ('all providers are told, nothing changed',
                 site.tellAllSame),
                ('the limit of one provider changed', site.tellChange),
                ('one tenant has a new layout', site.readLayout)):
            # The first one notes what there is.
            function()
            taken = timeCPU(function, rounds)
            table.add_row([name, what, f'{taken:.2f}',
                           f'{taken / look:,.0f}'])
            name = ''
    print(table)


if __name__ == '__main__':
    main()
