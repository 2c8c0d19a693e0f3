"""Find the objects of a cloud by the names in a configuration.

All nodes share an answer.  It is repeated after some time, and after the cloud
has refused a server, because the cloud may have changed.
"""

from openstack import exceptions

from zuul_nodes.drivers import Memory, PermanentError
from zuul_nodes.drivers.openstack.cloud.errors import Translation, check
from zuul_nodes.drivers.openstack.cloud.flavors import chooseFlavor
from zuul_nodes.drivers.openstack.cloud.pages import getPages
from zuul_nodes.suggestions import suggest

# Names of Glance's query parameters that openstacksdk changes.
FILTERS = {'is_hidden': 'os_hidden', 'is_protected': 'protected'}
# An answer has few pages; callers wait this many times the time-out of a call.
TIMEOUT_FACTOR = 3


class Lookups:
    """Looks up objects of the cloud by name, and caches the answers.

    Methods raise :class:`PermanentError` if the object does not exist, with
    the names that exist.

    :param endpoint: with ``client``, an openstacksdk connection.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.memory = Memory()

    @property
    def client(self):
        return self.endpoint.client

    def forgetAnswers(self):
        self.memory.clear()

    def listFlavors(self):
        """:return: a list of dicts, as Nova returns them."""
        return self._get('flavors', lambda: list(getPages(
            self.client.compute, '/flavors/detail', 'flavors')))

    def getFlavor(self, flavor):
        """
        :param flavor: of the configuration.
        :return: the flavor of the cloud, a dict.
        """
        return chooseFlavor(self.listFlavors(), flavor)

    def getFlavorName(self, flavor_id):
        """:return: the name of a flavor of the cloud; None if it does not
            exist."""
        return next((each['name'] for each in self.listFlavors()
                     if each['id'] == flavor_id), None)

    def getImageId(self, image):
        """
        :param image: of the configuration.
        :return: the id of the image in the cloud.
        """
        if image.image_id:
            return image.image_id
        return self.findImage(image.image_name, image.image_filters)['id']

    def findImage(self, name, filters):
        """
        :param str name: name or id of the image, or None.
        :param dict filters: additional query parameters of Glance, such as
            ``owner`` or ``visibility``.
        :return: the newest active image.
        """
        images = self._get(
            ('image', name, *sorted(filters.items())),
            lambda: self._listImages(name, filters))
        if images:
            return max(images, key=lambda each: (
                each['created_at'] or '', each['id']))
        wanted = ' and '.join(
            ([f'the name "{name}"'] if name else [])
            + [f'{key} "{value}"' for key, value in filters.items()])
        names = {each['name'] for each in self._get(
            ('images', *sorted(filters.items())),
            lambda: self._listImages(None, filters)) if each['name']}
        raise PermanentError(
            f'There is no active image with {wanted}. '
            f'{suggest(name or "", names)}')

    def _listImages(self, name, filters):
        query = {'status': 'active', **{
            FILTERS.get(key, key): value for key, value in filters.items()}}
        if name:
            query['name'] = name
        return [{key: each[key] for key in ('id', 'name', 'created_at')}
                for each in getPages(
                    self.client.image, '/images', 'images', query=query)]

    def getImage(self, image_id):
        """:return: an image of the cloud by its id."""
        def ask():
            try:
                return self.client.image.get_image(image_id)
            except exceptions.NotFoundException:
                raise PermanentError(
                    f'There is no image with the id "{image_id}"') from None
        return self._get(('image', image_id), ask)

    def getNetwork(self, name):
        """
        :param str name: or id.
        :return: a dict, as Neutron returns it.
        """
        return self._getByName('network', self.listNetworks(), name)

    def listNetworks(self):
        return self._get('networks', lambda: list(getPages(
            self.client.network, '/networks', 'networks')))

    def getSecurityGroup(self, name):
        return self._getByName('security group', self.listGroups(), name)

    def listGroups(self):
        """:return: security groups of the project."""
        return self._get('groups', lambda: list(getPages(
            self.client.network, '/security-groups', 'security_groups',
            query={'project_id': self.client.current_project_id})))

    def getServerGroup(self, name):
        return self._getByName(
            'server group', self._get('server groups', lambda: list(getPages(
                self.client.compute, '/os-server-groups',
                'server_groups'))), name)

    def getVolumeType(self, name):
        return self._getByName(
            'volume type', self._get('volume types', lambda: list(getPages(
                self.client.block_storage, '/types', 'volume_types'))), name)

    def listKeys(self):
        """:return: names of the key pairs of Zuul's user."""
        return self._get('keys', lambda: [
            each['keypair']['name'] for each in getPages(
                self.client.compute, '/os-keypairs', 'keypairs')])

    def listZones(self):
        """:return: names of the available zones; empty if the cloud does not
            list them."""
        return sorted(zone for zone, is_open in self._getZones().items()
                      if is_open)

    def isClosed(self, zone):
        """:return: whether a zone exists but is not available."""
        return not self._getZones().get(zone, True)

    def _getZones(self):
        return self._get('zones', self._askZones)

    def _askZones(self):
        response = self.client.compute.get('/os-availability-zone')
        if response.status_code in (403, 404):
            return {}
        zones = check(response).json()['availabilityZoneInfo']
        return {each['zoneName']: each['zoneState']['available']
                for each in zones}

    def getLimits(self):
        """:return: absolute limits of the project, as Nova returns them."""
        return self._get('limits', lambda: check(self.client.compute.get(
            '/limits')).json()['limits']['absolute'])

    def getQuota(self):
        """:return: a QuotaInformation with the limits of the project."""
        return self._get('quota', self.endpoint.getQuotaLimits)

    def _get(self, key, ask):
        with Translation():
            return self.memory.get(
                key, ask, TIMEOUT_FACTOR * self.client.session.timeout)

    def _getByName(self, what, things, name):
        found = [each for each in things if each['id'] == name] or [
            each for each in things if each['name'] == name]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ', '.join(sorted(each['id'] for each in found))
            raise PermanentError(
                f'There are {len(found)} {what}s with the name "{name}"; '
                f'use one of their ids: {ids}')
        names = [each['name'] or each['id'] for each in things]
        raise PermanentError(
            f'There is no {what} "{name}". {suggest(name, names)}')
