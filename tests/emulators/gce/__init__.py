"""Google Compute Engine and Cloud Storage on loopback, for tests: real
HTTP, real state.

The libraries ``google-cloud-compute`` and ``google-cloud-storage`` talk to
it, both at one URL::

    gce = GCE()
    client = compute_v1.InstancesClient(
        credentials=AnonymousCredentials(),
        client_options={'api_endpoint': gce.url})
    storage = google.cloud.storage.Client(
        project=gce.project, credentials=AnonymousCredentials(),
        client_options={'api_endpoint': gce.storage_url})
    gce.end()

What there is.  ``gce.instances``, ``disks``, ``images``, ``zones``,
``regions``, ``machine_types``, ``disk_types``, ``accelerator_types``,
``networks``, ``subnetworks``, ``projects`` and ``zone_operations``,
``global_operations``, ``region_operations`` are the collections of the API::

    gce.instances['np0001']             # by name, as the API shows it
    gce.instances.names                 # sorted
    gce.instances.resources             # by path, projects/p/zones/z/...
    gce.images.create('zuul', 'base', family='debian', labels={})
    gce.images.contents[path]           # disk.raw that it was imported from
    gce.instances.consoles['np0001'] = 'ssh-ed25519 ...'
    gce.buckets.create('bucket', 'zuul')
    gce.objects.data['bucket', 'name']  # bytes

There is a project "zuul" with two regions and five zones, a network
"default", and "debian-cloud", which has images and can only be read.  More:
``gce.projects.create(name)``, ``gce.networks.create``,
``gce.subnetworks.create(..., ipv6='EXTERNAL')``.

What goes on.  Each change gives an operation, and goes on when somebody
looks: at the operation, or at the resource, also in a list.  The state of an
instance is that of its operation: PROVISIONING while it is PENDING, STAGING
while it is RUNNING; then RUNNING.  Nothing depends on the time::

    gce.jobs.polls['instances.insert'] = 3      # looks until it is DONE
    gce.jobs.polls['images.insert'] = None      # until:
    gce.finish(name)                            # of resource or operation
    gce.instances.boot_polls = 2                # DONE, but not yet RUNNING
    gce.instances.on_running = function         # of the instance
    gce.preempt(name)                           # STOPPING, then TERMINATED

A job takes 1 look if nothing else is said, that is, the second look sees
it done; 0 has it done when the call is answered.  "wait" ends it at once,
unless it is held.  Between two looks of its own, the library's
``insert(...).result()`` sleeps for a second; ``insert_unary`` does not.

As in GCE: an import needs an archive that is gzip, GNU tar, and has disk.raw
only (``images.makeArchive`` makes one), and reads it when the operation
ends.  Processors of n2 are N2_CPUS, and those of c4 are of a quota that no
region tells.  What an instance can't have with its machine type is refused.
What does not exist is 404 where it is
the resource of the call, or an image; a zone that the call is for, and a
machine type or network that it names, are 400 "invalid".

What goes wrong::

    gce.fail('instances.insert')                # no resources in the zone
    gce.fail('images.delete', 'INTERNAL_ERROR', 'message')
    gce.quota.regional['CPUS'] = 4              # as 403 quotaExceeded
    gce.quota.late = True                       # or by the operation
    gce.quota.hidden = {'CPUS'}                 # not told now
    gce.unreachable.add('us-central1-a')        # of lists; not its resources
    gce.inject('POST', r'.*/instances', 503, times=2)
    gce.inject('GET', r'.*/zones/.*', 403, reason='rateLimitExceeded')
    gce.inject('DELETE', r'.*/images/.*')       # hangs up; nothing is done
    gce.inject('POST', r'.*/disks', acts=True)  # done, but no answer
    fault = gce.inject('GET', r'.*', hangs=True)
    fault.reached.wait(); fault.release()
    gce.images.keeps_failed = True              # they stay as FAILED
    gce.page_size = 2                           # of every list

``gce.calls`` counts calls by what the API calls them: "instances.insert",
"zoneOperations.get", "objects.insert"; those that went wrong count too.  What
is no call of the emulator counts as "GET /path", and is a 404.  There is no
authentication, and there are no snapshots.
"""

import collections
import uuid

from tests.emulators.emulation import RestCloud
from tests.emulators.gce.core import (
    COMPUTE,
    Fault,
    Refusal,
    Server,
    makeInvalid,
)
from tests.emulators.gce.disks import Disks
from tests.emulators.gce.hardware import AcceleratorTypes
from tests.emulators.gce.images import Images
from tests.emulators.gce.instances import Instances
from tests.emulators.gce.machinetypes import MachineTypes
from tests.emulators.gce.operations import (
    Failure,
    GlobalOperations,
    Jobs,
    RegionOperations,
    ZoneOperations,
)
from tests.emulators.gce.places import (
    DiskTypes,
    Networks,
    Projects,
    Regions,
    Subnetworks,
    Zones,
)
from tests.emulators.gce.quota import Quota
from tests.emulators.gce.storage import Buckets, Objects

EXHAUSTED = ('The zone does not have enough resources available to fulfill '
             'the request.  Try a different zone, or try again later.')


class GCE(RestCloud):
    """
    :ivar str url: of Compute Engine, for ``api_endpoint``.
    :ivar str storage_url: of Cloud Storage.
    :ivar str project: the one that is ours.
    :ivar Counter calls: "instances.insert" and so on.
    :ivar Jobs jobs: what goes on.
    :ivar Quota quota: limits.
    :ivar int page_size: of a list, at most.
    :ivar set unreachable: names of zones of which lists have nothing.
    """

    project = 'zuul'
    fault_class = Fault
    refusal_class = Refusal
    content_type = 'application/json; charset=UTF-8'

    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()
        self.page_size = 500
        self.unreachable = set()
        self._requests = {}
        self._server = Server(self)
        self.url = self.storage_url = self._server.url
        self.jobs = Jobs(self)
        self.quota = Quota(self)
        self.projects = Projects(self)
        self.regions = Regions(self)
        self.zones = Zones(self)
        self.networks = Networks(self)
        self.subnetworks = Subnetworks(self)
        self.machine_types = MachineTypes(self)
        self.disk_types = DiskTypes(self)
        self.accelerator_types = AcceleratorTypes(self)
        self.disks = Disks(self)
        self.instances = Instances(self)
        self.images = Images(self)
        self.zone_operations = ZoneOperations(self)
        self.region_operations = RegionOperations(self)
        self.global_operations = GlobalOperations(self)
        self.buckets = Buckets(self)
        self.objects = Objects(self)
        self.services = [
            self.projects, self.regions, self.zones, self.networks,
            self.subnetworks, self.machine_types, self.disk_types,
            self.accelerator_types, self.disks, self.instances, self.images,
            self.zone_operations, self.region_operations,
            self.global_operations, self.buckets, self.objects]
        self.projects.create(self.project)
        self.projects.create('debian-cloud', foreign=True)
        for name in ('debian-12-bookworm-v1', 'debian-12-bookworm-v2'):
            self.images.create('debian-cloud', name, family='debian-12')

    def end(self):
        super().end()
        self._server.end()

    def link(self, path):
        """:return: the ``selfLink`` of a path."""
        return f'{self.url}{COMPUTE}/{path}'

    def unlink(self, link):
        """:return: the path of a ``selfLink``."""
        return link.removeprefix(f'{self.url}{COMPUTE}/')

    # What a test does to it

    def fail(self, kind, code='ZONE_RESOURCE_POOL_EXHAUSTED',
             message=EXHAUSTED):
        """The next operation of this kind fails, in the end."""
        self.jobs.failures[kind].append(Failure(code, message))

    def finish(self, name):
        """What goes on with this is done, held or not.

        :param str name: of a resource or an operation, or its path.
        """
        with self.lock:
            self.jobs.finish(name)
            self.instances.finish(name)

    def preempt(self, name):
        """:return: the operation."""
        with self.lock:
            return self.instances.preempt(
                self.unlink(self.instances[name]['selfLink']))

    # Answers

    def handle(self, request):
        request.found = next(filter(None, (
            service.find(request) for service in self.services)), None)
        return super().handle(request)

    def note(self, request):
        self.calls[request.found[0] if request.found
                   else f'{request.method} {request.path}'] += 1

    def refuse(self, request, fault):
        return Refusal(fault.status, fault.message, fault.reason).toAnswer()

    def act(self, request):
        if request.found is None:
            raise Refusal(404, 'The requested URL was not found.')
        return self._act(request, *request.found)

    def _act(self, request, kind, function, arguments):
        self.projects.check(request.method, kind, **arguments)
        if 'requestId' not in request.query:
            return function(request, **arguments)
        request_id, = request.query['requestId']
        try:
            key = (request.path, kind, uuid.UUID(request_id))
        except ValueError as error:
            raise makeInvalid('requestId', request_id, 'It must be a UUID.'
                              ) from error
        # A call that is repeated gives what it gave before.
        if key not in self._requests:
            self._requests[key] = function(request, **arguments)
        return self._requests[key]
