"""The library's clients, and calls that tests make with them."""

from google.auth.credentials import AnonymousCredentials
from google.cloud import compute_v1

PROJECT = 'zuul'
ZONE = 'us-central1-a'
PLACE = {'project': PROJECT, 'zone': ZONE}
IMAGE = 'projects/debian-cloud/global/images/family/debian-12'


class Clients:
    """Those of the library, by name: ``clients.instances``."""

    def __init__(self, gce):
        self.gce = gce

    def __getattr__(self, name):
        words = ''.join(word.title() for word in name.split('_'))
        client = getattr(compute_v1, f'{words}Client')(
            credentials=AnonymousCredentials(),
            client_options={'api_endpoint': self.gce.url})
        setattr(self, name, client)
        return client


def makeInstance(name='np0001', image=IMAGE, machine='e2-standard-2', **more):
    return {
        'name': name, 'machine_type': f'zones/{ZONE}/machineTypes/{machine}',
        'disks': [{'boot': True, 'auto_delete': True, 'initialize_params': {
            'source_image': image, 'disk_size_gb': 20,
            'disk_type': f'zones/{ZONE}/diskTypes/pd-ssd'}}],
        'network_interfaces': [{
            'network': 'global/networks/default',
            'access_configs': [{'name': 'nat', 'type_': 'ONE_TO_ONE_NAT'}]}],
        'labels': {'zuul_system_id': 'system'}, **more}


def insert(clients, *args, request_id=None, **kwargs):
    return clients.instances.insert_unary(compute_v1.InsertInstanceRequest(
        **PLACE, request_id=request_id,
        instance_resource=makeInstance(*args, **kwargs)))


def getOperation(clients, operation):
    return clients.zone_operations.get(**PLACE, operation=operation.name)


def getInstance(clients, name='np0001'):
    return clients.instances.get(**PLACE, instance=name)


def getReason(info):
    return info.value.errors[0]['reason']
