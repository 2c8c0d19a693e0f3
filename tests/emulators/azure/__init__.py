"""Azure Resource Manager on loopback, for tests: real HTTP, real state.

What Zuul's driver for Azure calls is there: its client
``zuul.driver.azure.azul.AzureCloud`` talks to it, once :func:`redirect` has
told that client where it is::

    azure = Azure()
    client = AzureCloud(**azure.credentials)
    redirect(client, azure.url)
    azure.end()

What there is.  ``azure.vms``, ``nics``, ``addresses``, ``disks``,
``images``, ``subnets`` and ``groups`` are the collections of the API::

    azure.vms['np0001']                     # by name, as the API shows it
    azure.vms.resources                     # by id, in lower case
    azure.images.add('base')                # an image that is there already
    azure.images.contents[key]              # the VHD that it was made of

There is a resource group "zuul" in "eastus", with a subnet "default" in a
network "zuul".  As in Azure, a virtual machine takes with it what it has
with the deleteOption "Delete", and no more; a disk that it has been made
with has its tags; what is in use can not be deleted; and ids are the same
in upper and in lower case.

What goes on.  Each change gives an operation, and goes on when somebody
looks: at the operation, or at the resource, also in a list.  Until then the
resource is Creating or Deleting.  Nothing depends on the time::

    azure.operations.polls['virtualMachines.create'] = 3    # looks
    azure.operations.polls['disks.delete'] = None           # until:
    azure.finish(name)                      # of the resource

It takes one look if nothing else is said, that is, the second look sees it
done; 0 has it done when the call is answered.  Clients are told to look again
at once, not in some seconds.

Only those who ask see whether a virtual machine runs, with
``$expand=instanceView`` of one and ``statusOnly=true`` of all::

    azure.powers.set('np0001', 'stopped')   # by itself, say
    azure.powers.set('np0001', None)        # Azure does not know
    azure.vms.failExtension('np0001')       # it is Failed, and runs

What goes wrong::

    azure.fail('virtualMachines.create')    # AllocationFailed, in the end
    azure.limits['cores'] = 4               # as 409 OperationNotAllowed
    azure.vms.full = {'1'}                  # a zone; None: those without
    azure.inject('PUT', r'.*/virtualMachines/.*', 503, times=2)
    azure.inject('GET', '.*', 429, code='TooManyRequests')
    azure.inject('DELETE', '.*', acts=True) # done, but no answer
    azure.page_size = 2                     # of every list

What Azure has and this has not: identities, interfaces that are there before
their virtual machine, access to disks that ends by itself, and policies.
"""

import uuid

from requests.adapters import HTTPAdapter

from tests.emulators.azure.core import MANAGEMENT, Fault, Refusal
from tests.emulators.azure.disks import Blobs, Disks, Images
from tests.emulators.azure.login import Login
from tests.emulators.azure.machines import (
    USAGES,
    Skus,
    Usages,
    VirtualMachines,
)
from tests.emulators.azure.network import (
    Interfaces,
    PublicAddresses,
    Subnets,
)
from tests.emulators.azure.operations import Operations
from tests.emulators.azure.places import ResourceGroups
from tests.emulators.azure.powers import Powers
from tests.emulators.emulation import RestCloud, Server

REGION = 'eastus'


class Azure(RestCloud):
    """
    :ivar str url: where it is, in place of ``management.azure.com``.
    :ivar dict credentials: what there is to log in with, and where.
    :ivar dict limits: of the region, by the names that usages have.
    :ivar Operations operations: what goes on.
    :ivar int page_size: of a list, at most.
    """

    fault_class = Fault
    refusal_class = Refusal

    def __init__(self):
        super().__init__()
        self.subscription = str(uuid.uuid4())
        self.credentials = {
            'subscription_id': self.subscription,
            'tenant_id': str(uuid.uuid4()), 'client_id': str(uuid.uuid4()),
            'client_secret': 'secret'}
        self.limits = dict.fromkeys(USAGES, 1000)
        self.page_size = 500
        self.login = Login(self)
        self.operations = Operations(self)
        self.groups = ResourceGroups(self)
        self.subnets = Subnets(self)
        self.addresses = PublicAddresses(self)
        self.nics = Interfaces(self)
        self.disks = Disks(self)
        self.images = Images(self)
        self.vms = VirtualMachines(self)
        self.powers = Powers(self)
        # What uses others comes before them.
        self.collections = [
            self.vms, self.images, self.disks, self.nics, self.addresses,
            self.subnets]
        self.services = [
            self.login, self.operations, self.groups, *self.collections,
            self.powers, Blobs(self), Usages(self), Skus(self)]
        self._server = Server(self)
        self.url = self._server.url
        self.groups.add('zuul', REGION)
        self.subnets.add('zuul', 'zuul', 'default')

    def end(self):
        super().end()
        self._server.end()

    def list(self):
        """:return: a list of the ids of all that could leak."""
        with self.lock:
            return [each['id'] for collection in self.collections
                    for each in collection.resources.values()]

    # What a test does to it

    def fail(self, kind, code='AllocationFailed',
             message='Allocation failed. We do not have sufficient capacity '
                     'for the requested VM size in this region.'):
        """The next operation of this kind fails, in the end."""
        self.operations.failures[kind].append(
            {'code': code, 'message': message})

    def finish(self, name):
        """What goes on with the resource of this name is done."""
        with self.lock:
            self.operations.finish(name)

    # Answers

    def act(self, request):
        request.path = request.path.rstrip('/')
        for service in self.services:
            if found := service.find(request):
                function, arguments = found
                if service.guarded:
                    self.login.check(request, **arguments)
                return function(request, **arguments)
        raise Refusal(404, 'The requested resource does not exist.',
                      'InvalidResourceType')

    def refuse(self, request, fault):
        return Refusal(fault.status, fault.message, fault.code).toAnswer()


class _Redirection(HTTPAdapter):
    """It sends elsewhere what is for Azure.

    :param str url: where that is.
    """

    def __init__(self, url):
        super().__init__()
        self.url = url

    def send(self, request, **kwargs):
        request.url = self.url + request.path_url
        return super().send(request, **kwargs)


def redirect(client, url):
    """Have a client talk to the emulator.

    :param AzureCloud client: of Zuul's.
    :param str url: of the emulator.
    """
    client.session.mount(MANAGEMENT, _Redirection(url))
    client.auth.AUTH_URL = f'{url}/{{tenantId}}/oauth2/token'
