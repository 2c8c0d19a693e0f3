"""What AWS is asked about a configuration, before it is used."""

import collections
import difflib
import functools

from botocore.exceptions import ClientError
from zuul.driver.aws.const import ON_DEMAND, SPOT
from zuul.model import QuotaInformation

from zuul_nodes.drivers import Check, DriverError
from zuul_nodes.drivers.aws import errors, images, places

# More names than that help nobody.
MANY = 10
# There is none of that id, so nothing happens to it.
NOBODY = 'i-00000000000000000'
# Calls that nodes take, whatever is configured; with what they need.
PERMISSIONS = {
    'ec2:DescribeInstances': ('describe_instances', {}),
    'ec2:DescribeVolumes': ('describe_volumes', {}),
    'ec2:DescribeImages': ('describe_images', {'Owners': ['self']}),
    'ec2:DescribeSnapshots': ('describe_snapshots', {'OwnerIds': ['self']}),
    'ec2:TerminateInstances': ('terminate_instances',
                               {'InstanceIds': [NOBODY]}),
    'ec2:CreateTags': ('create_tags', {
        'Resources': [NOBODY],
        'Tags': [{'Key': 'zuul_system_id', 'Value': 'check'}]}),
}
# What AWS answers to such a call that it would have done.
DRY_RUN = 'DryRunOperation'


def makeChecks(provider):
    """
    :param AwsProvider provider: whose endpoint need not have been started.
    :return: yields a Check for all that its configuration names, each name
        once.
    """
    endpoint = provider.endpoint
    endpoint.start()
    questions = Questions(provider, endpoint)
    uses = collections.defaultdict(list)
    for subject, name, user, ask in _yieldUses(provider, questions):
        uses[subject, name].append((user, ask))
    for (subject, name), found in uses.items():
        users = dict.fromkeys(user for user, _ in found)
        yield Check(subject, name, ', '.join(users),
                    functools.partial(_askOne, found[0][1]))


def _askOne(ask):
    try:
        return ask()
    except ClientError as error:
        return str(errors.translate(error))


def _yieldUses(provider, questions):
    """:return: yields subject, name, what uses it, and what asks."""
    partial = functools.partial
    user = f'provider {provider.name}'
    yield 'region', provider.region, user, questions.askRegion
    for name, (method, kwargs) in PERMISSIONS.items():
        yield 'permission', name, user, partial(
            questions.askPermission, method, **kwargs)
    if provider.object_storage:
        bucket = provider.object_storage['bucket_name']
        yield 'bucket', bucket, user, partial(questions.askBucket, bucket)
    for image in provider.images.values():
        if image.type == 'cloud':
            yield ('image', _getImageName(image), f'image {image.name}',
                   partial(questions.askImage, image))
    for label in provider.labels.values():
        user = f'label {label.name}'
        flavor = provider.flavors[label.flavor]
        for zone in places.orderZones(label):
            yield 'zone', zone, user, partial(questions.askZone, zone)
        for subnet in label.subnet_ids:
            yield 'subnet', subnet, user, partial(
                questions.askSubnet, subnet)
        for group in label.security_group_ids or ():
            yield 'security group', group, user, partial(
                questions.askGroup, group)
        if label.key_name:
            yield 'key', label.key_name, user, partial(
                questions.askKey, label.key_name)
        if profile := label.iam_instance_profile:
            name = next(iter(profile.values()))
            yield 'instance profile', name, user, partial(
                questions.askProfile, name.rsplit('/', 1)[-1])
        for instance_type in _getTypes(flavor):
            zones = tuple(places.orderZones(label))
            where = f' in {", ".join(zones)}' if zones else ''
            yield 'flavor', instance_type + where, user, partial(
                questions.askType, instance_type, label)
        yield 'quota', label.name, user, partial(questions.askQuota, label)
        if not flavor.fleet and not flavor.dedicated_host:
            yield ('permission', f'ec2:RunInstances ({label.name})', user,
                   partial(questions.askLaunch, label))


def _getImageName(image):
    return image.image_id or images.describeQuery(images.makeQuery(image))


def _getTypes(flavor):
    return [flavor.instance_type] if flavor.instance_type else (
        flavor.fleet['instance_types'])


class Questions:
    """
    :param AwsProvider provider:
    :param AwsEndpoint endpoint: of it, started.

    Each gives an empty string, or what is wrong; or raises what AWS says.
    """

    def __init__(self, provider, endpoint):
        self.provider = provider
        self.endpoint = endpoint
        self.client = endpoint.ec2_client

    def askRegion(self):
        names = [each['RegionName'] for each in self._list(
            'describe_regions', 'Regions')]
        return _compare('region', self.provider.region, names)

    def askPermission(self, method, **kwargs):
        error = self._tryDry(method, **kwargs)
        if errors.getCode(error).startswith('InvalidInstanceID'):
            # So far, it was allowed.
            return ''
        return str(errors.translate(error)) if error else ''

    def askBucket(self, name):
        client = self.endpoint.s3_client
        try:
            with self.endpoint.non_mutating_rate_limiter:
                client.head_bucket(Bucket=name)
        except ClientError as error:
            if error.response['ResponseMetadata']['HTTPStatusCode'] == 404:
                return f'There is no bucket "{name}"; make it'
            return (f'Bucket "{name}" can not be used: '
                    f'{errors.translate(error)}')
        with self.endpoint.non_mutating_rate_limiter:
            region = self.endpoint._getBucketRegion(name)
        if region != self.provider.region:
            return (f'Bucket "{name}" is in {region}, and images are '
                    f'imported from buckets in {self.provider.region} only')
        return ''

    def askImage(self, image):
        owners = self.endpoint.connection.image_owners
        try:
            image_id = images.findImage(self.endpoint, image)
        except DriverError as error:
            return self._explainNoImage(image, str(error))
        if owners is not None or not image.image_id or not images.isId(
                image.image_id):
            return ''
        found = self._list('describe_images', 'Images', Filters=[
            {'Name': 'image-id', 'Values': [image_id]}])
        if not found:
            return (f'There is no image {image_id} in '
                    f'{self.provider.region}, or it is not shared with '
                    'this account; ids are of one region')
        state = found[0]['State']
        return '' if state == 'available' else (
            f'Image {image_id} is {state}')

    def _explainNoImage(self, image, message):
        if not image.image_id or images.isId(image.image_id):
            return message
        query = images.makeQuery(image)
        # Others' public images are too many to look through.
        names = [each.get('Name', '') for each in self._list(
            'describe_images', 'Images', Owners=['self'])]
        anybody = self._list('describe_images', 'Images',
                             Filters=query['Filters'])
        if anybody:
            owners = sorted({each['OwnerId'] for each in anybody})
            return (f'{message}; images of that name are owned by '
                    f'{_enumerate(owners)}: if one of them is to be '
                    'trusted, name it in "image-owners"')
        return f'{message}. {_suggest(image.image_id, names)}'

    def askZone(self, name):
        zones = {each['ZoneName']: each.get('State', 'available')
                 for each in self._list(
                     'describe_availability_zones', 'AvailabilityZones')}
        state = zones.get(name, 'available')
        return _compare('zone', name, zones) or (
            '' if state == 'available' else f'Zone {name} is {state}')

    def askSubnet(self, name):
        subnets = {each['SubnetId']: each for each in self._list(
            'describe_subnets', 'Subnets')}
        if name not in subnets:
            return _compare('subnet', name, subnets)
        subnet = subnets[name]
        if not subnet.get('AvailableIpAddressCount', 1):
            return f'Subnet {name} has no address left'
        zones = {zone for label in self.provider.labels.values()
                 if name in label.subnet_ids
                 for zone in places.orderZones(label)}
        if zones and subnet['AvailabilityZone'] not in zones:
            return (f'Subnet {name} is in {subnet["AvailabilityZone"]}, and '
                    f'nodes are to be in {_enumerate(sorted(zones))}')
        return ''

    def askGroup(self, name):
        return _compare('security group', name, [
            each['GroupId'] for each in self._list(
                'describe_security_groups', 'SecurityGroups')])

    def askKey(self, name):
        return _compare('key pair', name, [
            each['KeyName'] for each in self._list(
                'describe_key_pairs', 'KeyPairs')])

    def askProfile(self, name):
        client = self.endpoint.aws.client(
            'iam', region_name=self.provider.region,
            endpoint_url=self.provider.connection.endpoint_url)
        with self.endpoint.non_mutating_rate_limiter:
            try:
                client.get_instance_profile(InstanceProfileName=name)
            except client.exceptions.NoSuchEntityException:
                return (f'There is no instance profile "{name}"; a role '
                        'alone is none')
        return ''

    def askType(self, instance_type, label):
        offered = {each['Location'] for each in self._list(
            'describe_instance_type_offerings', 'InstanceTypeOfferings',
            LocationType='availability-zone', Filters=[
                {'Name': 'instance-type', 'Values': [instance_type]}])}
        if not offered:
            names = {each['InstanceType'] for each in self._list(
                'describe_instance_type_offerings',
                'InstanceTypeOfferings')}
            return _compare('instance type', instance_type, names) or (
                f'{self.provider.region} has no {instance_type}')
        wanted = places.orderZones(label) or list(
            self.endpoint.getSubnetZones(label.subnet_ids).values())
        if wanted and not offered & set(wanted):
            return (f'There is no {instance_type} in '
                    f'{_enumerate(dict.fromkeys(wanted))}; it is in '
                    f'{_enumerate(sorted(offered))}')
        return ''

    def askQuota(self, label):
        provider = self.provider
        flavor = provider.flavors[label.flavor]
        limits = self.endpoint.getLimits()
        problems = []
        for instance_type in _getTypes(flavor):
            needs = self._getNeeds(label, flavor, instance_type)
            for resource, need in needs.getResources().items():
                for owner, limit in (
                        ('AWS', limits.get(resource)),
                        ('the provider', (
                            provider.resource_limits or {}).get(resource))):
                    if limit is not None and limit < need:
                        problems.append(
                            f'One node needs {need:g} of {resource} '
                            f'({instance_type}), and {owner} allows '
                            f'{limit:g}')
        return '; '.join(dict.fromkeys(problems))

    def _getNeeds(self, label, flavor, instance_type):
        if flavor.dedicated_host:
            return self.endpoint._getQuotaForHostType(instance_type)
        needs = QuotaInformation()
        needs.add(self.endpoint._getQuotaForInstanceType(
            instance_type,
            SPOT if flavor.market_type == places.SPOT else ON_DEMAND))
        return needs

    def askLaunch(self, label):
        provider, endpoint = self.provider, self.endpoint
        flavor, image = (provider.flavors[label.flavor],
                         provider.images[label.image])
        if image.type != 'cloud':
            found = self._list('describe_images', 'Images', Owners=['self'])
            if not found:
                # What it would be made of is not there yet.
                return ''
            image_id = found[0]['ImageId']
        else:
            try:
                image_id = endpoint._getImageId(image)
            except DriverError:
                # That of the image says so.
                return ''
        zone = next(iter(places.orderZones(label)), None)
        place = places.Place(flavor.market_type, zone)
        error = self._tryDry('run_instances', **(
            endpoint._getInstanceConfiguration(
                *place.apply(label, flavor), image_id,
                {'zuul_system_id': 'check'}, None)))
        return str(errors.translate(error)) if error else ''

    def _tryDry(self, method, **kwargs):
        """:return: why AWS would not do it, or None if it would."""
        try:
            with self.endpoint.non_mutating_rate_limiter:
                getattr(self.client, method)(DryRun=True, **kwargs)
        except ClientError as error:
            return None if errors.getCode(error) == DRY_RUN else error
        return None

    def _list(self, method, key, **kwargs):
        """:return: a list of all there is, of all pages."""
        with self.endpoint.non_mutating_rate_limiter:
            if not self.client.can_paginate(method):
                return getattr(self.client, method)(**kwargs)[key]
            return [each for page in self.client.get_paginator(
                method).paginate(**kwargs) for each in page[key]]


def _compare(kind, name, names):
    """:return: a sentence, if the name is none of these."""
    if name in names:
        return ''
    return f'There is no {kind} "{name}". {_suggest(name, names)}'


def _suggest(name, names):
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f'Did you mean "{near[0]}"?'
    if not names:
        return 'There are none'
    return f'There are: {_enumerate(sorted(names))}'


def _enumerate(names):
    names = list(names)
    more = [f'and {len(names) - MANY} more'] if len(names) > MANY else []
    return ', '.join([*names[:MANY], *more])
