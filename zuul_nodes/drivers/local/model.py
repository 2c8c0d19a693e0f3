"""Zuul's objects for what there is on this machine."""

from enum import StrEnum

from zuul import model
from zuul.provider import statemachine

from zuul_nodes.drivers.local.machines import ADDRESS


class LocalProviderNode(model.ProviderNode, subclass_id='local'):
    """All that is to be known of an instance goes by the node's uuid."""


class LocalInstance(statemachine.Instance):
    """
    :param str name: of the machine: the uuid of its node.
    :param dict data: what is known of it, see
        :meth:`zuul_nodes.drivers.local.machines.Machines.get`.
    """

    def __init__(self, name, data):
        super().__init__()
        self.name = name
        self.metadata = data['metadata']
        self.interface_ip = self.private_ipv4 = ADDRESS
        self.username = data['username']
        self.connection_type = 'ssh'
        self.connection_port = data.get('port')
        self.host_keys = data.get('host_keys', [])

    @property
    def external_id(self):
        return self.name

    def getQuotaInformation(self):
        return model.QuotaInformation(instances=1)


class LocalResource(statemachine.Resource):
    """
    :param dict metadata: its tags.
    :param type: a :class:`ResourceType`.
    :param str name: of the machine or the image.
    """

    class ResourceType(StrEnum):
        INSTANCE = 'instance'
        IMAGE = 'image'

    def __init__(self, metadata, type, name):
        super().__init__(metadata, type)
        self.name = name

    @property
    def unique_id(self):
        return self.name
