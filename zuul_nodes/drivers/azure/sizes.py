"""Sizes of virtual machines: what a region has, and what they take.

https://learn.microsoft.com/rest/api/compute/resource-skus/list
https://learn.microsoft.com/rest/api/compute/usage/list
"""


from zuul_nodes.drivers import Memory, PermanentError
from zuul_nodes.drivers.azure.machinerequest import SPOT
from zuul_nodes.suggestions import suggest

# Seconds for which a list of sizes is used; it is long.
FRESH = 3600
MACHINES = 'virtualMachines'
# Of a limit; the others are of one family of sizes each.
SPOT_CORES = 'lowPriorityCores'
FAMILY = 'Family'
# Why a subscription may not have a size at all.
NOT_AVAILABLE = 'NotAvailableForSubscription'
MIB_PER_GB = 1024
# The list has several pages, at most.
PATIENCE = 3


class Sizes:
    """
    :param get_client: gives the client.
    :param str region:
    """

    def __init__(self, get_client, region):
        self.get_client = get_client
        self.region = region
        self.memory = Memory(FRESH)

    def get(self, name):
        """
        :return: a size, as Azure shows it.
        :raises PermanentError: the region does not have it, or not for this
            subscription.
        """
        sizes = self._list()
        size = sizes.get(name.lower())
        if size is None:
            names = [each['name'] for each in sizes.values()]
            raise PermanentError(
                f'{self.region} has no VM size "{name}". '
                f'{suggest(name, names)}')
        if any(each.get('type') == 'Location'
               and each.get('reasonCode') == NOT_AVAILABLE
               for each in size.get('restrictions') or ()):
            raise PermanentError(
                f'{self.region} does not offer the VM size "{name}" to this '
                'subscription; ask Microsoft for access, or use another '
                'size or region')
        return size

    def getZones(self, name=None):
        """
        :param str name: of a size; of all sizes without one.
        :return: a sorted list of zones where it can be.
        """
        sizes = [self.get(name)] if name else self._list().values()
        return sorted({zone for size in sizes
                       for place in size.get('locationInfo') or ()
                       for zone in place.get('zones') or ()})

    def getNeeds(self, name, priority):
        """
        :param str priority: as flavors have it.
        :return: resource -> what one virtual machine takes.
        :raises PermanentError: as of :meth:`get`.
        """
        return _getNeeds(self.get(name), priority)

    def getNeedsOf(self, vm):
        """
        :param dict vm: a virtual machine, anybody's.
        :return: resource -> what it takes, as far as that is known.
        """
        properties = vm['properties']
        name = properties.get('hardwareProfile', {}).get('vmSize', '')
        size = self._list().get(name.lower())
        return {'instances': 1} if size is None else _getNeeds(
            size, properties.get('priority', ''))

    def getLimits(self):
        """:return: resource -> limit, of the region."""
        limits = {}
        for each in self.get_client().compute_usages.list(self.region):
            name = each['name']['value']
            if name == MACHINES:
                limits['instances'] = each['limit']
            elif name in ('cores', SPOT_CORES) or name.endswith(FAMILY):
                limits[name] = each['limit']
        return limits

    def _list(self):
        """:return: dict, name in small letters -> size."""
        client = self.get_client()

        def ask():
            # Without a filter it has all regions.
            return {each['name'].lower(): each for each in client.listBy(
                client.compute_skus, f"$filter=location eq '{self.region}'")
                if each['resourceType'] == MACHINES}
        return self.memory.get('sizes', ask, PATIENCE * client.timeout)


def _getNeeds(size, priority):
    capabilities = {each['name']: each['value']
                    for each in size.get('capabilities') or ()}
    cores = int(capabilities.get('vCPUs', 0))
    needs = {'instances': 1, 'ram': int(
        float(capabilities.get('MemoryGB', 0)) * MIB_PER_GB)}
    if priority.lower() == SPOT:
        return needs | {SPOT_CORES: cores}
    return needs | {'cores': cores, **(
        {size['family']: cores} if size.get('family') else {})}
