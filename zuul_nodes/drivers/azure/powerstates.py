"""Whether virtual machines run.

Provisioning states tell how the last operation on a virtual machine has
ended, and no more: one that has been stopped has Succeeded, and one that runs
has Failed if an extension could not be installed.  Azure has power states as
well, of which only a list of their own tells, with the option ``statusOnly``;
``$expand=instanceView`` needs a filter for a scale set.

https://learn.microsoft.com/rest/api/compute/virtual-machines/list-all
https://learn.microsoft.com/azure/virtual-machines/states-billing
"""

from zuul_nodes.drivers import Instance

POWER = 'powerstate/'
# In any other state it runs, or will do so by itself, or Azure can't tell,
# which happens.
STOPPED = frozenset({'stopping', 'stopped', 'deallocating', 'deallocated'})


class VirtualMachine(Instance):
    """A virtual machine, as lists have it.

    :param dict vm: as Azure shows it.
    :ivar str power: its power state in small letters; None if it is not
        known.
    """

    power = None

    @property
    def problem(self):
        if getState(self.vm) == 'deleting':
            return 'Azure deletes its instance'
        if self.power in STOPPED:
            return f'its instance is {self.power}'
        return None


def listPowerStates(client):
    """
    :return: yields (id, power state), of all regions; None is for a power
        state that Azure does not know now.
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
    # Azure does not keep to one spelling.
    return vm['id'].lower()


def getState(vm):
    """:return: the provisioning state, in small letters."""
    return str(vm['properties'].get('provisioningState', '')).lower()
