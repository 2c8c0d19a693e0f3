"""What the emulated Compute Engine refuses, as the real one does."""

from google.api_core import exceptions
from google.cloud import compute_v1
import pytest

from tests.unit.drivers.gce.clients import (
    IMAGE,
    PLACE,
    PROJECT,
    ZONE,
    insert,
)

T4 = {'accelerator_type': f'zones/{ZONE}/acceleratorTypes/nvidia-tesla-t4',
      'accelerator_count': 1}
STAYS = {'on_host_maintenance': 'TERMINATE'}


def makeDisks(disk_type, size=20):
    return [{'boot': True, 'initialize_params': {
        'source_image': IMAGE, 'disk_size_gb': size,
        'disk_type': f'zones/{ZONE}/diskTypes/{disk_type}'}}]


def makeItems(*items):
    return {'items': [{'key': key, 'value': value} for key, value in items]}


@pytest.mark.parametrize(['fields', 'match'], [
    # What does not go with the machine type.
    ({'disks': makeDisks('hyperdisk-balanced')}, 'hyperdisk-balanced.*not '
                                                 'compatible'),
    ({'machine': 'c4-standard-2'}, 'pd-ssd.*not compatible'),
    ({'machine': 'c3-standard-4', 'disks': makeDisks('pd-standard')},
     'pd-standard.*not compatible'),
    ({'guest_accelerators': [T4], 'scheduling': {'preemptible': True}},
     'guest accelerators.*not compatible'),
    ({'machine': 'n1-standard-2', 'scheduling': STAYS, 'guest_accelerators': [
        {**T4, 'accelerator_type': 'zones/z/acceleratorTypes/x'}]},
     'acceleratorType resource cannot be found'),
    ({'machine': 'n1-standard-2', 'scheduling': STAYS, 'guest_accelerators': [
        {**T4, 'accelerator_count': 5}]}, 'acceleratorCount'),
    ({'confidential_instance_config': {'confidential_instance_type': 'SEV'}},
     'SEV.*not compatible'),
    # What can't move, or can't stay.
    ({'machine': 'n1-standard-2', 'guest_accelerators': [T4]},
     'live migration'),
    ({'machine': 'g2-standard-4'}, 'live migration'),
    ({'machine': 'h4d-standard-192', 'disks': makeDisks('hyperdisk-balanced')},
     'live migration'),
    ({'machine': 'n2d-standard-2', 'confidential_instance_config': {
        'confidential_instance_type': 'SEV_SNP'}}, 'live migration'),
    ({'scheduling': STAYS}, 'live migration only'),
    ({'scheduling': {'instance_termination_action': 'DELETE'}},
     'instanceTerminationAction'),
    # Sizes and numbers.
    ({'disks': makeDisks('pd-ssd', 70000)}, 'between 10 GB and 65536 GB'),
    ({'disks': makeDisks('pd-ssd') * 2}, 'A boot disk'),
    ({'tags': {'items': [f'a{i}' for i in range(65)]}}, 'more than 64 tags'),
    ({'metadata': makeItems(('a b', ''))}, 'metadata.*key'),
    ({'metadata': makeItems(('a', ''), ('a', 'b'))}, 'duplicate'),
    ({'metadata': makeItems(('a', 'b' * 262145))}, 'longer than 262144'),
    ({'metadata': makeItems(*((key, 'b' * 200000) for key in 'abc'))},
     'larger than 524288'),
    ({'network_interfaces': [{
        'network': 'global/networks/default',
        'ipv6_access_configs': [{'type_': 'DIRECT_IPV6'}]}]},
     'ipv6AccessConfigs'),
])
def test_instances(gce, clients, fields, match):
    with pytest.raises(exceptions.BadRequest, match=match):
        insert(clients, **fields)
    assert not gce.instances.names
    assert not gce.disks.names


@pytest.mark.parametrize('fields', [
    {'guest_os_features': [{'type_': 'TELEPATHY'}]},
    {'architecture': 'PDP11'}, {'name': 'a' * 64},
    {'labels': {'a': 'b' * 64}}])
def test_images(gce, clients, fields):
    before = gce.images.names
    with pytest.raises(exceptions.BadRequest):
        clients.images.insert_unary(project=PROJECT, image_resource={
            'name': 'debian', 'source_image': IMAGE, **fields})
    assert gce.images.names == before


def test_order(gce, clients):
    for name in ('b', 'c', 'a'):
        insert(clients, name)
    gce.page_size = 2

    def list_names(order=None):
        return [each.name for each in clients.instances.list(
            compute_v1.ListInstancesRequest(**PLACE, order_by=order))]
    assert list_names() == list_names('name') == ['a', 'b', 'c']
    assert list_names('creationTimestamp desc') == ['a', 'c', 'b']
    with pytest.raises(exceptions.BadRequest, match='orderBy'):
        list_names('status')


def test_zone_is_unreachable(gce, clients):
    """Then a list of all zones fails, if part of it is not wanted."""
    gce.unreachable.add('europe-west1-b')
    with pytest.raises(exceptions.ServiceUnavailable, match='europe-west1-b'):
        list(clients.instances.aggregated_list(project=PROJECT, retry=None))
    with pytest.raises(exceptions.ServiceUnavailable):
        list(clients.disks.list(
            project=PROJECT, zone='europe-west1-b', retry=None))
    assert list(clients.disks.list(**PLACE)) == []


def test_quotas_are_not_told(gce, clients):
    gce.quota.hidden = {'CPUS'}
    region = clients.regions.get(project=PROJECT, region='us-central1')
    assert region.quota_status_warning.code == 'QUOTA_INFO_UNAVAILABLE'
    assert 'CPUS' not in {quota.metric for quota in region.quotas}
    assert region.quotas
