"""Find out whether virtual machines are running.

The provisioning state of a virtual machine is only the result of the last
operation: a stopped one has Succeeded, and a running one has Failed if an
extension could not be installed.  Azure returns the power states only in a
list of their own, with the option ``statusOnly``; ``$expand=instanceView``
requires a filter for a scale set.

https://learn.microsoft.com/rest/api/compute/virtual-machines/list-all
https://learn.microsoft.com/azure/virtual-machines/states-billing
"""

from zuul_nodes.drivers import Instance

POWER = 'powerstate/'
# In other states the virtual machine is running or starting, or its state is
# temporarily unknown.
STOPPED = frozenset({'stopping', 'stopped', 'deallocating', 'deallocated'})


class VirtualMachine(Instance):
    """A virtual machine in a list.

    :param dict vm: as Azure returns it.
    :ivar str power: its power state in lower case; None if it is unknown.
    """

    power = None

    @property
    def problem(self):
        if getState(self.vm) == 'deleting':
            return 'Azure is deleting its instance'
        if self.power in STOPPED:
            return f'its instance is {self.power}'
        return None


def listPowerStates(client):
    """
    :return: yields (id, power state) for all regions; the power state is None
        if Azure does not know it.
    """
    for vm in client.listBy(client.virtual_machines, 'statusOnly=true'):
        yield getID(vm), _getPower(vm)


def _getPower(vm):
    view = vm['properties'].get('instanceView') or {}
    codes = (str(status.get('code', '')).lower()
             for status in view.get('statuses') or ())
    return next((code.removeprefix(POWER) for code in codes
                 if code.startswith(POWER)), None)


def getID(vm):
    """:return: the id of a virtual machine."""
    # Azure varies the case of ids.
    return vm['id'].lower()


def getState(vm):
    """:return: the provisioning state, in lower case."""
    return str(vm['properties'].get('provisioningState', '')).lower()
