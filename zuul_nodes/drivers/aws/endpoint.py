"""A region of AWS, shared by all providers that use it."""

import concurrent.futures

import botocore.config
import botocore.exceptions
import cachetools
from zuul.driver.aws.awsmodel import AwsResource
from zuul.driver.aws.const import ON_DEMAND
from zuul.driver.aws.util import tag_list_to_dict
from zuul.driver.util import RateLimiter
from zuul.model import QuotaInformation

from zuul_nodes.drivers import DriverError, TemporaryError, extension
from zuul_nodes.drivers.aws import errors, tokens
from zuul_nodes.drivers.aws.adapter import (
    RELEASED,
    AwsAdapter,
    getData,
    getKnown,
    getLast,
    isGone,
)
from zuul_nodes.drivers.aws.fleets import Fleets
from zuul_nodes.drivers.aws.imageendpoint import ImageEndpoint

# AWS advises against larger batches.
BATCH = 50
# Seconds for which the zones of subnets are cached.
SUBNETS_TTL = 3600
RUNNING = ('pending', 'running')
LIVE = ['pending', 'running', 'stopping', 'stopped']


class AwsEndpoint(extension.EndpointWithAdapter, ImageEndpoint):
    """Zuul's endpoint with time-outs, idempotent calls and reliable deletion.

    :ivar Listing hosts, volumes: each list is shared by all nodes that wait
        for it.
    """

    def __init__(self, zk_client, driver, connection, region, system_id):
        super().__init__(zk_client, driver, connection, region, system_id)
        self.setAdapter(AwsAdapter(self))
        # The clients limit the rate, and one call may delete many instances.
        self.calls.rate_limiter = RateLimiter(self.name, None)
        self.hosts = self.makeListing('listHosts')
        self.volumes = self.makeListing('listVolumes')
        self.fleets = Fleets(self)
        # Uuid of a node -> Future of the running creation of a resource.
        self._creating = {}
        self._zones = cachetools.TTLCache(4096, SUBNETS_TTL)
        # Key of an object and time of its last change -> its tags.
        self._object_tags = {}

    def startEndpoint(self):
        super().startEndpoint()
        # Remove Zuul's caches, which do not record the age of a list.
        del self._listHosts, self._listInstances, self._listVolumes

    # Calls

    def _getSessionFromCredentials(self):
        return self._limit(super()._getSessionFromCredentials())

    def _getSessionFromWebIdentity(self):
        return self._limit(super()._getSessionFromWebIdentity())

    def _limit(self, session):
        """:return: the session, with time-outs for all of its clients."""
        timeout = self.connection.api_timeout
        # Only botocore can set a default for all clients; boto3 cannot.
        session._session.set_default_client_config(botocore.config.Config(
            connect_timeout=timeout, read_timeout=timeout))
        return session

    def _getClients(self):
        super()._getClients()
        tokens.install(self.ec2_client)

    def _listInstances(self):
        return getLast(self.listing)

    def _listHosts(self):
        return getLast(self.hosts)

    def _listVolumes(self):
        return getLast(self.volumes)

    def findInstances(self, node_uuid):
        """:return: a list of the live instances of a node, not cached."""
        with self.non_mutating_rate_limiter, errors.translated():
            return [instance for page in self.ec2_client.get_paginator(
                'describe_instances').paginate(Filters=[
                    _makeFilter(f'tag:{tokens.NODE_TAG}', node_uuid),
                    _makeFilter('instance-state-name', *LIVE)])
                    for reservation in page['Reservations']
                    for instance in reservation['Instances']]

    def findHosts(self, node_uuid):
        """:return: a list of the hosts of a node, not cached."""
        # AWS cannot filter hosts by the value of a tag.
        with self.non_mutating_rate_limiter, errors.translated():
            hosts = [host for page in self.ec2_client.get_paginator(
                'describe_hosts').paginate(Filter=[
                    _makeFilter('tag-key', tokens.NODE_TAG)])
                    for host in page['Hosts']]
        return [host for host in hosts if host['State'] not in RELEASED
                and tag_list_to_dict(host['Tags'])[
                    tokens.NODE_TAG] == node_uuid]

    def getSubnetZones(self, subnets):
        """
        :param list subnets: ids.
        :return: a dictionary, id -> zone, without unknown subnets.
        """
        missing = [each for each in subnets if each not in self._zones]
        if missing:
            try:
                with self.non_mutating_rate_limiter:
                    found = self.ec2_client.describe_subnets(
                        Filters=[_makeFilter('subnet-id', *missing)])
            except botocore.exceptions.ClientError as error:
                self.log.warning('Unable to find the zones of subnets: %s',
                                 errors.translate(error))
                return {}
            self._zones.update(
                (subnet['SubnetId'], subnet['AvailabilityZone'])
                for subnet in found['Subnets'])
        return {each: self._zones[each] for each in subnets
                if each in self._zones}

    def getConsoleLog(self, instance_id):
        """:return: a string, which may be empty."""
        def ask(**kwargs):
            with self.non_mutating_rate_limiter:
                return self.ec2_client.get_console_output(
                    InstanceId=instance_id, **kwargs).get('Output') or ''
        with errors.translated():
            try:
                return ask(Latest=True)
            except botocore.exceptions.ClientError as error:
                # Only Nitro instances support the latest output.
                if errors.getCode(error) != 'UnsupportedOperation':
                    raise
            return ask()

    # Creation

    def _submitCreateInstance(self, provider, label, flavor, image,
                              image_external_id, tags, hostname,
                              dedicated_host_id, launch_template_name, log):
        return self._noteCreation(tags, super()._submitCreateInstance(
            provider, label, flavor, image, image_external_id, tags,
            hostname, dedicated_host_id, launch_template_name, log))

    def _submitAllocateHost(self, label, flavor, tags, hostname, log):
        return self._noteCreation(tags, super()._submitAllocateHost(
            label, flavor, tags, hostname, log))

    def _noteCreation(self, tags, future):
        node_uuid = tags.get(tokens.NODE_TAG)
        self._creating[node_uuid] = future

        def forget(future):
            if self._creating.get(node_uuid) is future:
                del self._creating[node_uuid]
        future.add_done_callback(forget)
        return future

    def isCreating(self, node_uuid):
        """:return: whether a resource of a node is being created."""
        return node_uuid in self._creating

    def _completeCreateInstance(self, future):
        return _complete(future)

    def _completeAllocateHost(self, future):
        return _complete(future)

    def _createLaunchTemplates(self, provider):
        self.fleets.createTemplates(provider)

    def _createFleet(self, provider, label, flavor, image_id, tags, hostname,
                     launch_template_name, log):
        instance_id = self.fleets.createFleet(
            label, flavor, image_id, tags, launch_template_name)
        log.debug('Created VM %s as instance %s', hostname, instance_id)
        # The instance may be missing in lists for a while.
        return {'InstanceId': instance_id, 'State': {'Name': 'creating'}}

    # Methods of Zuul's endpoint, for other modules of this driver

    def refresh(self, thing):
        """:return: an instance or a host as the last list has it; the argument
            itself if it is not listed."""
        return self._refresh(thing)

    def makeRequest(self, label, flavor, image_id, tags, dedicated_host_id):
        """:return: the request for RunInstances, a dictionary."""
        return self._getInstanceConfiguration(
            label, flavor, image_id, tags, dedicated_host_id)

    def listTemplates(self):
        """:return: a list of our launch templates."""
        return self._listLaunchTemplates()

    def forgetTemplates(self):
        """Discard the cached list of launch templates."""
        self._listLaunchTemplates.cache_clear()

    def getTemplateName(self, request):
        """
        :param dict request: that creates the launch template.
        :return: the name of the launch template.
        """
        return self._getLaunchTemplateName(request)

    def getBucketRegion(self, name):
        return self._getBucketRegion(name)

    def getNeedsOfHost(self, host_type):
        """:return: QuotaInformation."""
        return self._getQuotaForHostType(host_type)

    def getNeedsOfInstance(self, instance_type, market_type_option):
        """:return: QuotaInformation."""
        return self._getQuotaForInstanceType(
            instance_type, market_type_option)

    # Deletion

    def deleteInstance(self, external_id):
        """:return: a Future."""
        return self._deleteInstance(external_id)

    def releaseHost(self, external_id):
        """:return: a Future."""
        return self._releaseHost(external_id)

    def _deleteInstance(self, external_id, log=None, immediate=False):
        """:return: a Future."""
        future = concurrent.futures.Future()
        record = external_id, log or self.log, future
        if immediate:
            self._terminate([record])
            future.result()
        else:
            self.delete_instance_queue.put(record)
        return future

    def _releaseHost(self, external_id, log=None, immediate=False):
        failed = ()
        with self.rate_limiter, errors.suppressGone():
            self.log.debug('Releasing host %s', external_id)
            failed = self.ec2_client.release_hosts(
                HostIds=[external_id]).get('Unsuccessful', ())
        for each in failed:
            said = each.get('Error', {})
            error = errors.makeError(
                said.get('Code', ''), said.get('Message', ''))
            if not errors.isGone(error):
                raise error

    def _deleteThread(self):
        is_running = True
        while is_running:
            batch = [self.delete_instance_queue.get()]
            while (len(batch) < BATCH
                   and not self.delete_instance_queue.empty()):
                batch.append(self.delete_instance_queue.get())
            is_running = None not in batch
            if records := [record for record in batch if record]:
                self._terminate(records)

    def _terminate(self, records):
        """Ask AWS to terminate instances.

        :param list records: tuples of id, log and the Future for the result.
        """
        for external_id, log, _ in records:
            log.debug('Deleting instance %s', external_id)
        try:
            with self.rate_limiter(
                    self.log.debug, f'Deleted {len(records)} instances'):
                self.ec2_client.terminate_instances(
                    InstanceIds=[record[0] for record in records],
                    SkipOsShutdown=True)
        except Exception as error:
            said = errors.translate(error)
            if (len(records) > 1 and isinstance(said, DriverError)
                    and not isinstance(said, TemporaryError)):
                # An unknown instance makes the call fail for all others.
                for record in records:
                    self._terminate([record])
                return
            if not errors.isGone(said):
                for _, _, future in records:
                    future.set_exception(said)
                return
        for _, _, future in records:
            future.set_result(None)

    def _deleteVolume(self, external_id):
        self._delete(self.ec2_client.delete_volume, VolumeId=external_id)

    def _deleteAmi(self, external_id):
        self._delete(self.ec2_client.deregister_image, ImageId=external_id)

    def _deleteSnapshot(self, external_id):
        self._delete(self.ec2_client.delete_snapshot, SnapshotId=external_id)

    def _delete(self, method, **kwargs):
        """:raises DriverError: AWS refuses it."""
        with self.rate_limiter, errors.suppressGone():
            self.log.debug('Deleting %s', kwargs)
            method(**kwargs)

    # Resources

    def listInstances(self):
        """:return: yields all instances, each with its ``problem``.
        :raises Exception: AWS has not returned a list yet."""
        states = {
            each.id: each.data['State']['Name'].lower()
            for each in getKnown(self.listing)}
        getKnown(self.volumes)
        for instance in super().listInstances():
            state = states.get(instance.aws_instance_id, 'running')
            instance.problem = (
                None if state in RUNNING else f'its instance is {state}')
            yield instance

    def listResources(self, providers):
        buckets = {(provider.object_storage or {}).get('bucket_name')
                   for provider in providers} - {None}
        kinds = AwsResource.ResourceType
        failures = []
        for kind, make in (
                # New imports have no tags.
                ('tags', self._addTags),
                (kinds.HOST, lambda: _makeResources(
                    kinds.HOST, 'HostId', getData(self.hosts))),
                (kinds.INSTANCE, lambda: _makeResources(
                    kinds.INSTANCE, 'InstanceId', getData(self.listing))),
                (kinds.VOLUME, lambda: _makeResources(
                    kinds.VOLUME, 'VolumeId', getData(self.volumes))),
                (kinds.AMI, lambda: _makeResources(
                    kinds.AMI, 'ImageId', self._listAmis())),
                (kinds.SNAPSHOT, lambda: _makeResources(
                    kinds.SNAPSHOT, 'SnapshotId', self._listSnapshots())),
                (kinds.OBJECT, lambda: self._makeObjects(buckets)),
                (kinds.LAUNCH_TEMPLATE, lambda: _makeResources(
                    kinds.LAUNCH_TEMPLATE, 'LaunchTemplateName',
                    self._listLaunchTemplates()))):
            try:
                found = list(make())
            except Exception as error:
                failures.append(f'{kind}: {errors.translate(error)}')
                continue
            yield from found
        if failures:
            # Report to the caller that the list is incomplete.
            raise DriverError('; '.join(failures))

    def _addTags(self):
        self._tagSnapshots()
        self._tagAmis()
        return ()

    def _makeObjects(self, buckets):
        tags = {}
        for bucket in buckets:
            # Not from the cache, which contains only one bucket.
            for item in super()._listObjects(bucket):
                key = bucket, item.key, item.last_modified
                if key not in self._object_tags:
                    try:
                        with self.non_mutating_rate_limiter:
                            said = self.s3_client.get_object_tagging(
                                Bucket=bucket, Key=item.key)
                    except botocore.exceptions.ClientError as error:
                        if errors.isGone(error):
                            continue
                        raise
                    self._object_tags[key] = tag_list_to_dict(said['TagSet'])
                tags[key] = self._object_tags[key]
                yield AwsResource(
                    tags[key], AwsResource.ResourceType.OBJECT, item.key,
                    bucket_name=bucket)
        self._object_tags = tags

    # Quota

    def refreshQuotaLimits(self, update):
        if self.quota_cache.hasLimits() and not update:
            return False
        # Not from Zuul's cache, which returns the previous limits.
        self.quota_cache.setLimits(QuotaInformation(**self.getLimits()))
        return True

    def getLimits(self):
        """:return: the code of a quota -> current limit."""
        return {code: value for service in ('ec2', 'ebs')
                for code, value in self._listServiceQuotas(service).items()}

    def refreshQuotaForLabel(self, label, flavor, update):
        if flavor.instance_type and not flavor.dedicated_host:
            self._getQuotaForInstanceType(flavor.instance_type, ON_DEMAND)
            # Unknown types use no quota, because they cannot be launched.
            if flavor.instance_type in self.invalid_instance_types:
                return
        super().refreshQuotaForLabel(label, flavor, update)

    def _getQuotaForInstanceType(self, instance_type, market_type_option):
        # Zuul returns None for an unknown type.  One such instance of another
        # user of the account would make the quota of all others fail.
        return super()._getQuotaForInstanceType(
            instance_type, market_type_option) or QuotaInformation(
                instances=1)


def _complete(future):
    """
    :return: the resource that was created; None until it exists.
    :raises DriverError: AWS has refused the request.
    """
    if not future.done():
        return None
    try:
        return future.result()
    except botocore.exceptions.ClientError as error:
        raise errors.translate(error) from error


def _makeFilter(name, *values):
    return {'Name': name, 'Values': list(values)}


def _makeResources(kind, key, things):
    for thing in things:
        if not isGone(thing):
            yield AwsResource(
                tag_list_to_dict(thing.get('Tags')), kind, thing[key])
