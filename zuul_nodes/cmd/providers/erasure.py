"""Erases the records of a provider that no tenant has any more."""

from zuul_nodes import orders
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.cmd.common import nodechanges, offers, zkobjects
from zuul_nodes.exceptions import UserError
from zuul_nodes.suggestions import suggest

UPLOADS = '/zuul/image-uploads/uploads'
# Seconds to wait for a launcher that works on an upload.
TIMEOUT = 10


class Erasure:
    """The records of a provider that no tenant has any more.

    :param ZooKeeperClient zk_client: connected.
    :param str name: of the provider, short or canonical.
    :ivar name: its canonical name.
    :ivar list nodes: as of :func:`.nodechanges.readNodes`.
    :ivar list uploads: the records of the uploads that no other provider
        needs.
    :raises UserError: a tenant has the provider, or there are no records.
    """

    def __init__(self, zk_client, name):
        self.zk_client = zk_client
        self.client = zk_client.client
        nodes = nodechanges.readNodes(self.client)
        uploads = zkobjects.readAll(self.client, UPLOADS)
        self.name = self._find(name, {
            *(node['provider'] for node in nodes if node['provider']),
            *(each for upload in uploads
              for each in upload['providers'] or ())})
        self.nodes = [node for node in nodes
                      if node['provider'] == self.name]
        self.uploads = [upload for upload in uploads
                        if upload['providers'] == [self.name]]

    def _find(self, name, recorded):
        """:return: the canonical name of the provider."""
        known = offers.readProviders(self.client)
        for provider in known.values():
            if name in (provider['name'], getShortName(provider['name'])):
                tenants = ', '.join(provider['tenants'])
                raise UserError(
                    f'the provider {provider["name"]} is in the layout of '
                    f'these tenants: {tenants}. Remove it there first')
        found = sorted(each for each in recorded - known.keys()
                       if name in (each, getShortName(each)))
        if not found:
            gone = set(map(getShortName, recorded - known.keys()))
            raise UserError(f'no record names a provider "{name}" that is '
                            f'gone. {suggest(name, gone)}')
        if len(found) > 1:
            raise UserError(f'several providers that are gone are called '
                            f'"{name}": {", ".join(found)}. Use one of these '
                            f'names')
        return found[0]

    def toDict(self):
        """:return: what is erased, and its ids at the cloud."""
        return {'provider': self.name, 'nodes': [{
            'uuid': node['uuid'], 'state': node['state'],
            'request': node['request'], 'endpoint': node['endpoint'],
            'external_id': node['external_id']} for node in self.nodes],
            'uploads': [{
                'uuid': upload['uuid'], 'state': upload['_state'],
                'endpoint': upload['endpoint_name'],
                'external_id': upload['external_id']}
                for upload in self.uploads]}

    def erase(self):
        """Have launchers remove the nodes, and remove the uploads.

        :raises UserError: a launcher works on an upload.
        """
        # Their imports take long.
        from zuul.model import ImageUpload

        from zuul_nodes.cmd.common.recordlocks import locked, makeContext
        from zuul_nodes.launcher.images import remove
        context = makeContext(self.zk_client)
        orders.note(self.client, 'providers erase', provider=self.name)
        for node in self.nodes:
            nodechanges.change(self.client, node, 'delete', force=True)
        for record in self.uploads:
            with locked(context, ImageUpload, record['uuid'],
                        TIMEOUT) as upload:
                remove(context, upload)
