"""Checks of the configuration of AWS against the cloud."""

import functools

from botocore.exceptions import ClientError
from zuul.driver.aws.const import ON_DEMAND, SPOT
from zuul.model import QuotaInformation

from zuul_nodes.drivers import (
    Check,
    DriverError,
    Found,
    getUser,
    getZones,
    makeForLabels,
)
from zuul_nodes.drivers.aws import errors, images, places
from zuul_nodes.suggestions import suggest

# Maximum number of names in a message.
MANY = 10
# The id of an instance that does not exist, so calls do not change anything.
MISSING = 'i-00000000000000000'
# Calls that every node requires -> method and arguments.
PERMISSIONS = {
    'ec2:DescribeInstances': ('describe_instances', {}),
    'ec2:DescribeVolumes': ('describe_volumes', {}),
    'ec2:DescribeImages': ('describe_images', {'Owners': ['self']}),
    'ec2:DescribeSnapshots': ('describe_snapshots', {'OwnerIds': ['self']}),
    'ec2:TerminateInstances': ('terminate_instances',
                               {'InstanceIds': [MISSING]}),
    'ec2:CreateTags': ('create_tags', {
        'Resources': [MISSING],
        'Tags': [{'Key': 'zuul_system_id', 'Value': 'check'}]}),
}
# The error code of a dry run that would have succeeded.
DRY_RUN = 'DryRunOperation'


def makeChecks(provider):
    """
    :param AwsProvider provider: whose endpoint need not have been started.
    :return: yields a Check for each object that its configuration names.
    """
    provider.endpoint.startForChecks()
    questions = Questions(provider, provider.endpoint)
    user = f'provider {provider.name}'
    yield _make('region', provider.region, user, questions.askRegion,
                access=True)
    for name, (method, kwargs) in PERMISSIONS.items():
        yield _make('permission', name, user, functools.partial(
            questions.askPermission, method, **kwargs))
    if provider.object_storage:
        bucket = provider.object_storage['bucket_name']
        yield _make('bucket', bucket, user, questions.askBucket, bucket)
    yield from makeForLabels(
        provider, lambda view, label: _makeForLabel(
            Questions(view, view.endpoint), label))


def _make(subject, name, user, ask, *args, **kwargs):
    def askTranslated():
        try:
            return ask(*args)
        except ClientError as error:
            return str(errors.translate(error))
    return Check(subject, name, user, askTranslated, **kwargs)


def _makeForLabel(questions, label):
    """:return: yields a Check for each object that a label of a view names."""
    provider = questions.provider
    user = f'label {label.name}'
    zones = tuple(getZones(label))
    flavor, image = (provider.flavors[label.flavor],
                     provider.images[label.image])
    if image.type == 'cloud':
        yield _make('image', _getImageName(image), getUser(label, 'image'),
                    questions.askImage, image)
    for zone in zones:
        yield _make('zone', zone, user, questions.askZone, zone)
    for subnet in label.subnet_ids:
        yield _make('subnet', subnet, user, questions.askSubnet, subnet,
                    zones, question=zones)
    for group in label.security_group_ids or ():
        yield _make('security group', group, user, questions.askGroup, group)
    if label.key_name:
        yield _make('key', label.key_name, user, questions.askKey,
                    label.key_name)
    if profile := label.iam_instance_profile:
        name = next(iter(profile.values()))
        yield _make('instance profile', name, user, questions.askProfile,
                    name.rsplit('/', 1)[-1])
    where = f' in {", ".join(zones)}' if zones else ''
    for instance_type in _getTypes(flavor):
        yield _make(
            'flavor', instance_type + where, user, questions.askType,
            instance_type, label, question=tuple(label.subnet_ids))
    yield _make('quota', label.name, user, questions.askQuota, label,
                question=provider.canonical_name)
    if not flavor.fleet and not flavor.dedicated_host:
        yield _make('permission', f'ec2:RunInstances ({label.name})', user,
                    questions.askLaunch, label,
                    question=provider.canonical_name)


def _getImageName(image):
    return image.image_id or images.describeQuery(images.makeQuery(image))


def _getTypes(flavor):
    return [flavor.instance_type] if flavor.instance_type else (
        flavor.fleet['instance_types'])


class Questions:
    """Asks AWS about the configuration of a provider.

    Each method returns an empty string, the problem, or what it has found, or
    raises the error of AWS.

    :param AwsProvider provider:
    :param AwsEndpoint endpoint: of the provider, started.
    """

    def __init__(self, provider, endpoint):
        self.provider = provider
        self.endpoint = endpoint
        self.client = endpoint.ec2_client

    def askRegion(self):
        try:
            names = [each['RegionName'] for each in self._list(
                'describe_regions', 'Regions')]
        except ClientError as error:
            if errors.getCode(error) != 'UnauthorizedOperation':
                raise
            # AWS has answered, so the region exists.
            return ''
        return _compare('region', self.provider.region, names)

    def askPermission(self, method, **kwargs):
        error = self._tryDry(method, **kwargs)
        if errors.getCode(error).startswith('InvalidInstanceID'):
            # The call was authorized.
            return ''
        return str(errors.translate(error)) if error else ''

    def askBucket(self, name):
        client = self.endpoint.s3_client
        try:
            with self.endpoint.non_mutating_rate_limiter:
                client.head_bucket(Bucket=name)
        except ClientError as error:
            if error.response['ResponseMetadata']['HTTPStatusCode'] == 404:
                return f'There is no bucket "{name}"; create it'
            return (f'Bucket "{name}" cannot be used: '
                    f'{errors.translate(error)}')
        with self.endpoint.non_mutating_rate_limiter:
            region = self.endpoint.getBucketRegion(name)
        if region != self.provider.region:
            return (f'Bucket "{name}" is in {region}, but images are '
                    f'imported only from buckets in {self.provider.region}')
        return ''

    def askImage(self, image):
        owners = self.endpoint.connection.image_owners
        try:
            image_id = images.findImage(self.endpoint, image)
        except DriverError as error:
            return self._explainNoImage(image, str(error))
        if owners is not None or not image.image_id or not images.isId(
                image.image_id):
            return Found(image_id)
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
        # The public images of other accounts are too many for suggestions.
        names = [each.get('Name', '') for each in self._list(
            'describe_images', 'Images', Owners=['self'])]
        others = self._list('describe_images', 'Images',
                            Filters=query['Filters'])
        if others:
            owners = sorted({each['OwnerId'] for each in others})
            return (f'{message}; images of that name are owned by '
                    f'{_enumerate(owners)}: if you trust one of them, add it '
                    'to "image-owners"')
        return f'{message}. {suggest(image.image_id, names)}'

    def askZone(self, name):
        zones = {each['ZoneName']: each.get('State', 'available')
                 for each in self._list(
                     'describe_availability_zones', 'AvailabilityZones')}
        state = zones.get(name, 'available')
        return _compare('zone', name, zones) or (
            '' if state == 'available' else f'Zone {name} is {state}')

    def askSubnet(self, name, zones):
        subnets = {each['SubnetId']: each for each in self._list(
            'describe_subnets', 'Subnets')}
        if name not in subnets:
            return _compare('subnet', name, subnets)
        subnet = subnets[name]
        if not subnet.get('AvailableIpAddressCount', 1):
            return f'Subnet {name} has no address left'
        if zones and subnet['AvailabilityZone'] not in zones:
            return (f'Subnet {name} is in {subnet["AvailabilityZone"]}, but '
                    f'the label has {_enumerate(sorted(zones))}')
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
                return (f'There is no instance profile "{name}"; the name of '
                        'a role is not sufficient')
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
                    f'{_enumerate(dict.fromkeys(wanted))}; the zones with it '
                    f'are {_enumerate(sorted(offered))}')
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
                            f'({instance_type}), but {owner} allows '
                            f'{limit:g}')
        return '; '.join(dict.fromkeys(problems))

    def _getNeeds(self, label, flavor, instance_type):
        if flavor.dedicated_host:
            return self.endpoint.getNeedsOfHost(instance_type)
        needs = QuotaInformation()
        needs.add(self.endpoint.getNeedsOfInstance(
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
                # The account has no image yet with which to try it.
                return ''
            image_id = found[0]['ImageId']
        else:
            try:
                image_id = images.findImage(endpoint, image)
            except DriverError:
                # The check of the image reports this.
                return ''
        zone = next(iter(places.orderZones(label)), None)
        place = places.Place(flavor.market_type, zone)
        error = self._tryDry('run_instances', **(
            endpoint.makeRequest(
                *place.apply(label, flavor), image_id,
                {'zuul_system_id': 'check'}, None)))
        return str(errors.translate(error)) if error else ''

    def _tryDry(self, method, **kwargs):
        """:return: the error of a dry run, or None if it would succeed."""
        try:
            with self.endpoint.non_mutating_rate_limiter:
                getattr(self.client, method)(DryRun=True, **kwargs)
        except ClientError as error:
            return None if errors.getCode(error) == DRY_RUN else error
        return None

    def _list(self, method, key, **kwargs):
        """:return: a list of the items of all pages."""
        with self.endpoint.non_mutating_rate_limiter:
            if not self.client.can_paginate(method):
                return getattr(self.client, method)(**kwargs)[key]
            return [each for page in self.client.get_paginator(
                method).paginate(**kwargs) for each in page[key]]


def _compare(kind, name, names):
    """:return: a sentence if the name is not in the list."""
    if name in names:
        return ''
    return f'There is no {kind} "{name}". {suggest(name, names)}'


def _enumerate(names):
    names = list(names)
    more = [f'and {len(names) - MANY} more'] if len(names) > MANY else []
    return ', '.join([*names[:MANY], *more])
