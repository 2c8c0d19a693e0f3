"""Whether virtual machines run.

https://learn.microsoft.com/azure/virtual-machines/states-billing
"""

from tests.emulators.azure.core import Collection, Refusal, Service, route
from tests.emulators.emulation import Answer

# What a call has a virtual machine do -> its state meanwhile, and then.
ACTIONS = {'poweroff': ('stopping', 'stopped'),
           'deallocate': ('deallocating', 'deallocated'),
           'start': ('starting', 'running')}


class Powers(Service):
    """
    :ivar dict states: id of a virtual machine in lower case -> its power
        state, or None if Azure does not know it.
    """

    collection = 'Microsoft.Compute/virtualMachines'

    def __init__(self, azure):
        super().__init__(azure)
        self.states = {}

    def set(self, name, state):
        """The virtual machine of this name has that power state, whatever
        has come to it from outside Azure."""
        self.states[self.azure.vms[name]['id'].lower()] = state

    def getStatuses(self, vm):
        """:return: a list, as instance views have it."""
        key = vm['id'].lower()
        state = vm['properties']['provisioningState'].lower()
        status = {'code': f'ProvisioningState/{state}', 'level': 'Info'}
        if state == 'failed':
            error = self.azure.operations.errors[key]
            status = {'code': f'ProvisioningState/failed/{error["code"]}',
                      'level': 'Error', 'message': error['message']}
        power = self.states.get(key)
        return [status, *([{
            'code': f'PowerState/{power}', 'level': 'Info',
            'displayStatus': f'VM {power}'}] if power else [])]

    @route('POST', Collection.ITEM + '/{action}')
    def callAct(self, request, action, **place):
        vm = self.azure.vms.demand(request.path.rpartition('/')[0])
        if action.lower() not in ACTIONS:
            raise Refusal(404, f"There is no action '{action}'.")
        key = vm['id'].lower()
        meanwhile, then = ACTIONS[action.lower()]
        self.states[key] = meanwhile
        vm['properties']['provisioningState'] = 'Updating'
        operation = self.azure.operations.start(
            f'virtualMachines.{action}', vm,
            lambda: self.states.update({key: then}))
        return Answer(202, headers=operation.headers)
