"""Sizes of virtual machines in a region, and the resources that they need.

https://learn.microsoft.com/rest/api/compute/resource-skus/list
https://learn.microsoft.com/rest/api/compute/usage/list
"""


from zuul_nodes.drivers import Memory, PermanentError
from zuul_nodes.drivers.azure.machinerequest import SPOT
from zuul_nodes.suggestions import suggest

# Seconds for which the list of sizes is cached, because it is long.
FRESH = 3600
MACHINES = 'virtualMachines'
# Name of a limit; most others are of one family of sizes each.
SPOT_CORES = 'lowPriorityCores'
FAMILY = 'Family'
# Azure's reason why a subscription may not use a size.
NOT_AVAILABLE = 'NotAvailableForSubscription'
MIB_PER_GB = 1024
# The list has few pages; callers wait this many times the time-out of a call.
TIMEOUT_FACTOR = 3


class Sizes:
    """Looks up sizes, and caches them.

    :param get_client: returns the client.
    :param str region:
    """

    def __init__(self, get_client, region):
        self.get_client = get_client
        self.region = region
        self.memory = Memory(FRESH)

    def getSize(self, name):
        """
        :return: a size, as Azure returns it.
        :raises PermanentError: the region does not have it, or does not offer
            it to the subscription.
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
        :param str name: of a size; without a name, all sizes count.
        :return: a sorted list of its zones.
        """
        sizes = [self.getSize(name)] if name else self._list().values()
        return sorted({zone for size in sizes
                       for place in size.get('locationInfo') or ()
                       for zone in place.get('zones') or ()})

    def getNeeds(self, name, priority):
        """
        :param str priority: of the flavor.
        :return: resource -> amount that one virtual machine needs.
        :raises PermanentError: as of :meth:`getSize`.
        """
        return _getNeeds(self.getSize(name), priority)

    def getNeedsOf(self, vm):
        """
        :param dict vm: any virtual machine.
        :return: resource -> amount that it needs, as far as it is known.
        """
        properties = vm['properties']
        name = properties.get('hardwareProfile', {}).get('vmSize', '')
        size = self._list().get(name.lower())
        return {'instances': 1} if size is None else _getNeeds(
            size, properties.get('priority', ''))

    def getLimits(self):
        """:return: resource -> limit of the region."""
        limits = {}
        for each in self.get_client().compute_usages.list(self.region):
            name = each['name']['value']
            if name == MACHINES:
                limits['instances'] = each['limit']
            elif name in ('cores', SPOT_CORES) or name.endswith(FAMILY):
                limits[name] = each['limit']
        return limits

    def _list(self):
        """:return: dict, name in lower case -> size."""
        client = self.get_client()

        def ask():
            # Without the filter, the list contains all regions.
            return {each['name'].lower(): each for each in client.listBy(
                client.compute_skus, f"$filter=location eq '{self.region}'")
                if each['resourceType'] == MACHINES}
        return self.memory.get('sizes', ask, TIMEOUT_FACTOR * client.timeout)


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
