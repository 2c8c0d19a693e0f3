"""Instances for which AWS selects the type: fleets of one instance.

A fleet has a launch template with the attributes that are the same for all
types, and overrides for the others.  Both are derived from the request that
RunInstances would get for the label and the flavor.
"""

import base64
import weakref

from botocore.exceptions import ClientError
from zuul.driver.aws.util import tag_dict_to_list

from zuul_nodes.drivers import DriverError, TemporaryError, forNode
from zuul_nodes.drivers.aws import errors, names
from zuul_nodes.drivers.aws.places import SPOT

# Parameters of RunInstances that launch templates have as well.
TEMPLATE = ('KeyName', 'EbsOptimized', 'NetworkInterfaces', 'CpuOptions',
            'IamInstanceProfile', 'MetadataOptions', 'MaintenanceOptions')
# Parameters of disks that overrides may have.
DISK = ('DeleteOnTermination', 'Encrypted', 'Iops', 'KmsKeyId', 'SnapshotId',
        'Throughput', 'VolumeSize', 'VolumeType')
# Strategies that use the order of the types.
RANKED = ('prioritized', 'capacity-optimized-prioritized')


class Fleets:
    """Creates fleets and their launch templates.

    :param AwsEndpoint endpoint: of the fleets.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint
        # Provider -> label -> name of its template.  Tenants may resolve a
        # provider differently, so each of their objects has its own entry for
        # as long as it exists.  Zuul's clean-up keeps these templates.
        endpoint.provider_label_template_names = weakref.WeakKeyDictionary()

    def createTemplates(self, provider):
        """Create the missing launch templates of labels with fleets.

        :param AwsProvider provider: as a tenant has it.
        :raises DriverError: AWS has refused one; the others exist.
        """
        found, failures = {}, []
        known = {template['LaunchTemplateName']
                 for template in self.endpoint.listTemplates()}
        for label_name in provider.labels:
            # The label may override attributes of its flavor.
            view = forNode(provider, label_name, '')
            label = view.labels[label_name]
            flavor = view.flavors[label.flavor]
            if not flavor.fleet:
                continue
            request = self._makeTemplate(provider, label, flavor)
            name = self.endpoint.getTemplateName(request)
            found[label_name] = name
            if name in known:
                continue
            try:
                self._createTemplate(name, request)
                known.add(name)
            except ClientError as error:
                failures.append(f'label "{label_name}": '
                                f'{errors.translate(error)}')
        # Not in place, as other threads may read it.
        self.endpoint.provider_label_template_names = (
            self.endpoint.provider_label_template_names | {provider: found})
        if failures:
            raise DriverError('; '.join(failures))

    def findTemplate(self, provider, label, flavor):
        """
        :param AwsProvider provider: as a tenant has it, or a view of that.
        :return: the name of the label's launch template; None if it has none,
            or if that was not created yet.
        """
        if not flavor.fleet:
            return None
        name = self.endpoint.getTemplateName(
            self._makeTemplate(provider, label, flavor))
        prepared = self.endpoint.provider_label_template_names.values()
        return name if any(
            name in found.values() for found in prepared) else None

    def _createTemplate(self, name, request):
        self.endpoint.log.debug('Creating launch template %s', name)
        try:
            with self.endpoint.rate_limiter:
                self.endpoint.ec2_client.create_launch_template(
                    LaunchTemplateName=name, **request)
        except ClientError as error:
            if not errors.exists(error):
                raise
        # Other providers may need the same template.
        self.endpoint.forgetTemplates()

    def _makeTemplate(self, provider, label, flavor):
        """:return: the request for CreateLaunchTemplate, without the name."""
        launch = self.endpoint.makeRequest(
            label, flavor, None, {}, None)
        data = {name: launch[name] for name in TEMPLATE
                if launch.get(name) is not None}
        # Each override has a subnet.
        data['NetworkInterfaces'] = [
            {name: value for name, value in interface.items()
             if name != 'SubnetId'} for interface in data['NetworkInterfaces']]
        if user_data := launch.get('UserData'):
            data['UserData'] = base64.b64encode(user_data.encode()).decode()
        tags = names.fitTags({
            'zuul_system_id': self.endpoint.system_id,
            # Each provider has its own templates.
            'zuul_provider_name': provider.canonical_name})
        return {'LaunchTemplateData': data, 'TagSpecifications': [{
            'ResourceType': 'launch-template',
            'Tags': tag_dict_to_list(tags)}]}

    def createFleet(self, label, flavor, image_id, tags, template):
        """
        :param str template: name of the label's launch template.
        :return: the id of the instance.
        :raises DriverError: AWS has not created an instance.
        """
        if not template:
            raise TemporaryError(
                f'Label "{label.name}" has no launch template yet')
        launch = self.endpoint.makeRequest(
            label, flavor, image_id, tags, None)
        options, capacity = (
            ('SpotOptions', 'spot') if flavor.market_type == SPOT
            else ('OnDemandOptions', 'on-demand'))
        with self.endpoint.rate_limiter:
            found = self.endpoint.ec2_client.create_fleet(**{
                'Type': 'instant',
                options: {'AllocationStrategy': (
                    flavor.fleet['allocation_strategy'])},
                'TargetCapacitySpecification': {
                    'TotalTargetCapacity': 1,
                    'DefaultTargetCapacityType': capacity},
                'LaunchTemplateConfigs': [{
                    'LaunchTemplateSpecification': {
                        'LaunchTemplateName': template,
                        'Version': '$Latest'},
                    'Overrides': list(self._yieldOverrides(
                        label, flavor, launch))}],
                'TagSpecifications': launch['TagSpecifications']})
        if not found.get('Instances'):
            raise DriverError('AWS has created a fleet without an instance '
                              'and without a reason')
        return found['Instances'][0]['InstanceIds'][0]

    def _yieldOverrides(self, label, flavor, launch):
        common = {'ImageId': launch['ImageId']}
        if mappings := launch.get('BlockDeviceMappings'):
            common['BlockDeviceMappings'] = [
                {'DeviceName': mapping['DeviceName'], 'Ebs': {
                    name: value for name, value in mapping['Ebs'].items()
                    if name in DISK}} for mapping in mappings]
        is_ranked = flavor.fleet['allocation_strategy'] in RANKED
        for rank, instance_type in enumerate(flavor.fleet['instance_types']):
            for place in self._getPlaces(label):
                yield {**common, **place, 'InstanceType': instance_type,
                       **({'Priority': rank} if is_ranked else {})}

    def _getPlaces(self, label):
        """:return: a list of the zones or subnets for overrides."""
        if not label.subnet_ids:
            return [{'AvailabilityZone': label.az}] if label.az else [{}]
        zones = (self.endpoint.getSubnetZones(label.subnet_ids)
                 if label.az else {})
        return [{'SubnetId': subnet} for subnet in label.subnet_ids
                if zones.get(subnet, label.az) == label.az]
