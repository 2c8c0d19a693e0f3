"""Build the API's request for an instance.

Source: https://cloud.google.com/compute/docs/reference/rest/v1/instances
"""

import re

from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.gce import tags
from zuul_nodes.drivers.gce.allowed import makePath
from zuul_nodes.drivers.gce.names import makeLabels

ON_DEMAND = 'on-demand'
SPOT = 'spot'
PREEMPTIBLE = 'preemptible'
# The key of the metadata with Zuul's tags and other attributes of an instance.
ITEM = 'zuul-nodes'
# Machine types that cannot migrate to another host: those with built-in GPUs
# (A2, A3, G2 and so on, except G1, which is an old one) or TPUs, those for HPC
# and for storage, and bare metal.
# https://cloud.google.com/compute/docs/instances/live-migration-process
FIXED = re.compile(r'(a|g(?!1-)|h|z|ct)\d.*|.*-metal')


def makeInstance(spec, name, project, region):
    """
    :param InstanceSpec spec:
    :param str name: of the instance, and of its disk.
    :return: an instance, as a dictionary for the library.
    :raises PermanentError: the spec does not determine the image.
    """
    flavor, label = spec.flavor, spec.label
    labels = makeLabels(spec.tags)
    return {
        'name': name,
        'machine_type': f'zones/{spec.zone}/machineTypes/'
                        f'{flavor.machine_type}',
        'min_cpu_platform': flavor.min_cpu_platform,
        'labels': labels,
        'metadata': {'items': [{'key': key, 'value': value} for key, value in
                               _makeMetadata(spec).items()]},
        'tags': {'items': label.network_tags},
        'disks': [{
            'boot': True, 'auto_delete': True, 'initialize_params': {
                'source_image': getImagePath(spec, project),
                'disk_size_gb': label.volume_size,
                'disk_type': label.volume_type and (
                    f'zones/{spec.zone}/diskTypes/{label.volume_type}'),
                'description': tags.describe(spec.tags), 'labels': labels}}],
        'network_interfaces': [_makeInterface(spec, region)],
        'service_accounts': [label.service_account] * bool(
            label.service_account),
        'scheduling': _makeScheduling(flavor),
        'shielded_instance_config': {
            'enable_secure_boot': flavor.secure_boot,
            'enable_vtpm': flavor.vtpm,
            'enable_integrity_monitoring': flavor.integrity_monitoring},
        'advanced_machine_features': {
            'enable_nested_virtualization': True,
        } if flavor.nested_virtualization else None,
        'confidential_instance_config': {
            'confidential_instance_type': flavor.confidential_type,
        } if flavor.confidential_type else None,
        'guest_accelerators': [{
            'accelerator_type': f'zones/{spec.zone}/acceleratorTypes/'
                                f'{each["type"]}',
            'accelerator_count': each['count'],
        } for each in flavor.accelerators],
    }


def getImagePath(spec, project):
    """:return: the path of the image for the boot disk."""
    if spec.image_id:
        return spec.image_id
    image = spec.image
    name, family = image.image_id, image.image_family
    if not (name or family):
        raise PermanentError(
            f'Image "{image.name}" has neither "image-id" nor '
            '"image-family"; set one of them')
    return makePath(name, family, image.image_project or project)


def _makeMetadata(spec):
    image = spec.image
    items = dict(spec.label.metadata)
    if image.key:
        items['ssh-keys'] = '\n'.join(
            f'{image.username}:{line.strip()}'
            for line in image.key.splitlines() if line.strip())
    if image.userdata:
        items['user-data'] = image.userdata
    items[ITEM] = tags.dump(
        spec.tags, internal=spec.provider.use_internal_ip,
        volume_type=spec.label.volume_type)
    return items


def _makeInterface(spec, region):
    label, flavor = spec.label, spec.flavor
    network, subnetwork = label.network, label.subnetwork
    if not subnetwork:
        network = network or 'default'
    interface = {
        'network': network and (
            network if '/' in network else f'global/networks/{network}'),
        'subnetwork': subnetwork and (
            subnetwork if '/' in subnetwork
            else f'regions/{region}/subnetworks/{subnetwork}')}
    if flavor.public_ipv4:
        interface['access_configs'] = [
            {'name': 'External NAT', 'type_': 'ONE_TO_ONE_NAT'}]
    if flavor.public_ipv6:
        interface['stack_type'] = 'IPV4_IPV6'
        interface['ipv6_access_configs'] = [
            {'name': 'external-ipv6', 'type_': 'DIRECT_IPV6',
             'network_tier': 'PREMIUM'}]
    return interface


def _makeScheduling(flavor):
    # E2 must migrate, unless it may be reclaimed.
    stays = (flavor.market_type != ON_DEMAND or flavor.accelerators
             or flavor.confidential_type
             or FIXED.fullmatch(flavor.machine_type))
    if not stays:
        return None
    scheduling = {'on_host_maintenance': 'TERMINATE'}
    if flavor.market_type != ON_DEMAND:
        scheduling.update(preemptible=True, automatic_restart=False)
    if flavor.market_type == SPOT:
        # Delete reclaimed instances, because stopped ones are useless.
        scheduling.update(provisioning_model='SPOT',
                          instance_termination_action='DELETE')
    return scheduling
