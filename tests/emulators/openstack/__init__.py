"""An OpenStack cloud on loopback, for tests: real HTTP, real state.

::

    cloud = OpenStack()
    cloud.writeConfig(path)             # clouds.yaml
    cloud.nova.build_polls = None       # until cloud.nova.finish(id)
    cloud.inject('POST', r'/compute/.*/servers', acts=True)
    cloud.end()

What openstacksdk calls is there; each service tells what else it has.
"""

import yaml

from tests.emulators.emulation import Answer, Cloud, Refusal
from tests.emulators.openstack.cinder import Cinder
from tests.emulators.openstack.core import REGION, Server
from tests.emulators.openstack.glance import Glance
from tests.emulators.openstack.keystone import Keystone
from tests.emulators.openstack.neutron import Neutron
from tests.emulators.openstack.nova import Nova


class OpenStack(Cloud):
    """
    :ivar Keystone keystone: who may ask.
    :ivar Glance glance: images.
    :ivar Nova nova: servers.
    :ivar Neutron neutron: networks.
    :ivar Cinder cinder: volumes.
    """

    def __init__(self):
        super().__init__()
        self.keystone = Keystone(self)
        self.glance = Glance(self)
        self.neutron = Neutron(self)
        self.nova = Nova(self)
        self.cinder = Cinder(self)
        self.services = [self.keystone, self.glance, self.neutron,
                         self.nova, self.cinder]
        self._server = Server(self)
        self.url = self._server.url

    def end(self):
        super().end()
        self._server.end()

    def writeConfig(self, path, name='emulator', **settings):
        """Write a clouds.yaml with one cloud.

        :param settings: what else it has.
        """
        path.write_text(yaml.safe_dump({'clouds': {name: {
            'auth': {'auth_url': self.keystone.url,
                     **self.keystone.getCredentials()},
            'region_name': REGION, **settings}}}))
        return path

    def answer(self, request):
        service = self._find(request)
        if service is None:
            return Answer(404)
        with self.lock:
            try:
                return service.answer(request)
            except Refusal as refusal:
                return self.refuse(request, refusal)

    def refuse(self, request, refusal):
        """:param refusal: a :class:`Refusal` or a :class:`Fault`."""
        error = self._find(request).formatError(refusal)
        return Answer(refusal.status, error, {'Content-Type': 'text/html'}
                      if isinstance(error, bytes) else {})

    def _find(self, request):
        return next((service for service in self.services
                     if request.path.startswith(f'{service.path}/')
                     or request.path == service.path), None)
