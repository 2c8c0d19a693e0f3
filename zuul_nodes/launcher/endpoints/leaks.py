"""Deletion of leaked resources: tagged as ours, with no record left.

A deletion cannot be undone.  So the launcher deletes a resource only if it has
the tag of this system, if nothing has needed it in two rounds some time apart,
and if a synchronized read of ZooKeeper finds no record of the node or upload
in its tags.  A resource with an expiration date is deleted after that date.
The launcher keeps resources and records that it cannot read.  It also keeps
resources that nodes share, until the drivers know all providers.

A node may have two instances: of the launcher that has the node, and of one
that lost its session while it called the cloud.  The one that is not in the
node's record has leaked, too.
"""

import collections
import contextlib
import dataclasses
import functools
import logging
import time

from kazoo.exceptions import NoNodeError
from zuul.model import ImageUpload, ProviderNode, QuotaInformation

from zuul_nodes import audit, leakrecords, zkrecords
from zuul_nodes.launcher.endpoints.vanished import Vanished
from zuul_nodes.launcher.metrics import makeSafe
from zuul_nodes.launcher.providers import describe
from zuul_nodes.launcher.workers import getBackoff

# Tag of a resource -> path of the records that it refers to.
RECORDS = {
    'zuul_node_uuid': f'{ProviderNode.ROOT}/{ProviderNode.NODES_PATH}',
    'zuul_upload_uuid': f'{ImageUpload.ROOT}/{ImageUpload.UPLOADS_PATH}',
}
# When lists are incomplete, suspects that no list contains are forgotten
# after this time, in seconds.
MEMORY = 3600.0


@dataclasses.dataclass
class Suspect:
    """A resource that may have leaked, with the attempts to delete it."""
    since: float
    seen: float = 0.0
    attempts: int = 0
    next_attempt: float = 0.0
    # When it was found, in seconds since the epoch.
    found: int = dataclasses.field(default_factory=lambda: int(time.time()))
    error: str | None = None


class Memory:
    """The state of an endpoint's clean-up between rounds.

    :ivar dict suspects: type, id and owners of a resource -> Suspect.
    :ivar set complaints: problems that have been logged.
    :ivar bytes recorded: content of the record of the suspects, or None.
    """

    def __init__(self):
        self.suspects = {}
        self.complaints = set()
        self.recorded = None


class Cleanup:
    """Cleans up endpoints, one round at a time.

    :param NodeRecords nodes: the nodes, which own resources.
    :param uploads: the cache of all uploads, which own resources.
    :param ZuulSystem system: has the id in the tags of our resources.
    :param statsd: a client, or None.
    :param Settings settings: of the launcher.
    """

    def __init__(self, nodes, uploads, system, statsd, settings):
        self.nodes = nodes
        self.uploads = uploads
        self.system = system
        self.statsd = statsd
        self.settings = settings

    def run(self, endpoint, memory, turn, knowsAll):
        """Examine all resources of an endpoint once.

        :param Memory memory: of that endpoint.
        :param Turn turn: the turn that this is part of.
        :param knowsAll: called with an endpoint and its providers; returns
            whether their drivers know everything that nodes may need there.
        """
        Round(self, endpoint, memory, turn, knowsAll).run()


class Round:
    """One examination of all resources of an endpoint.

    :param Cleanup cleanup: has the records and clients.
    :param BaseProviderEndpoint endpoint: whose resources are examined.
    :param Memory memory: of that endpoint.
    :param Turn turn: the turn that this is part of.
    :param knowsAll: as of :meth:`Cleanup.run`.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, cleanup, endpoint, memory, turn, knowsAll):
        self.nodes = cleanup.nodes
        self.uploads = cleanup.uploads
        self.system_id = cleanup.system.system_id
        self.statsd = cleanup.statsd
        self.longest_backoff = cleanup.settings.cleanup_longest_backoff
        self.client = cleanup.nodes.session.client
        self.endpoint = endpoint
        self.memory = memory
        self.turn = turn
        self.knowsAll = knowsAll
        self.started = self.seen = turn.clock()
        self.suspects = {}
        self.complaints = set()
        # Types and ids of all resources.
        self.listed = set()
        self.unmanaged = collections.Counter()
        self.leaked = collections.Counter()

    def run(self):
        for what, function in (('foreign usage', self._recordForeignUsage),
                               ('leaked resources', self._cleanUp),
                               ('record of leaks', self._recordSuspects)):
            try:
                function()
            except Exception as error:
                self.turn.noteError(error)
                self._complain(what, error, self.log.exception)
        self.memory.complaints = self.complaints

    def _recordForeignUsage(self):
        vanished = Vanished(
            self.nodes, self.endpoint, self.turn.interval)
        used = QuotaInformation()
        seen = []
        for instance in self.endpoint.listInstances():
            if not self.turn.shouldContinue():
                return
            try:
                node_id = self._getNodeId(instance)
            except Exception as error:
                self._complain(instance, error)
                # It may belong to any node, so no node counts as vanished.
                vanished = None
                continue
            seen.append((node_id, instance))
            try:
                if self.nodes.get(node_id) is None:
                    used.add(instance.getQuotaInformation())
            except Exception as error:
                self._complain(instance, error)
        self.endpoint.quota_cache.setUnmanagedUsage(used)
        problems = vanished and vanished.find(seen)
        if problems:
            # A single list may be out of date, so read it again.
            again = vanished.find(
                (self._getNodeId(instance), instance)
                for instance in self.endpoint.listInstances())
            vanished.failNodes({
                node_id: problem for node_id, problem in again.items()
                if node_id in problems})

    def _getNodeId(self, instance):
        """:return: the id of the node in an instance's tags, or None."""
        return (self._getTags(instance) or {}).get('zuul_node_uuid')

    def _cleanUp(self):
        resources, complete = self._listResources()
        for resource in resources:
            # One that cannot be read is complained of below.
            with contextlib.suppress(Exception):
                self.listed.add((resource.type, resource.unique_id))
        self.seen = self.turn.clock()
        for resource in resources:
            if not self.turn.shouldContinue():
                return
            try:
                self._examine(resource)
            except Exception as error:
                self._complain(resource, error)
        if not complete:
            # Resources that are not in the list may still exist.
            self.suspects |= {
                key: suspect for key, suspect in self.memory.suspects.items()
                if self.seen - suspect.seen < MEMORY}
        self.memory.suspects = self.suspects
        if complete and self.statsd:
            self._reportGauges()

    def _recordSuspects(self):
        data = leakrecords.makeRecord(
            {'type': resource_type, 'id': str(resource_id),
             'node': dict(owners).get('zuul_node_uuid'),
             'upload': dict(owners).get('zuul_upload_uuid'),
             'since': suspect.found, 'attempts': suspect.attempts,
             'error': suspect.error}
            for (resource_type, resource_id, *owners), suspect
            in self.memory.suspects.items())
        if data != self.memory.recorded:
            path = leakrecords.getPath(self.endpoint.canonical_name)
            if self.memory.suspects:
                zkrecords.write(self.client, path, data)
            else:
                # Another launcher may have written it.
                zkrecords.delete(self.client, path)
            self.memory.recorded = data

    def _listResources(self):
        """:return: a list of resources, and whether it is complete."""
        found = []
        try:
            for resource in self.endpoint.listResources(
                    self.turn.providers):
                found.append(resource)
                if not self.turn.shouldContinue():
                    break
        except Exception as error:
            self.turn.noteError(error)
            self._complain('incomplete list', error, self.log.exception)
            return found, False
        return found, True

    def _examine(self, resource):
        """Delete a resource if it has certainly leaked."""
        tags = self._getTags(resource)
        if tags is None:
            self.unmanaged[resource.type] += 1
            return
        owners = {tag: tags[tag] for tag in RECORDS if tags.get(tag)}
        expiration = None if owners else tags.get('zuul_expiration')
        key = (resource.type, resource.unique_id, *owners.items())
        suspect = self.memory.suspects.pop(key, None) or Suspect(self.seen)
        suspect.seen = self.seen
        if expiration is not None:
            if time.time() <= int(expiration):
                return
        elif self._isNeeded(resource, owners):
            return
        self.suspects[key] = suspect
        age = self.started - suspect.since
        if age < self.turn.interval or (
                expiration is None and self._mayBeNeeded(resource, owners)):
            return
        self.leaked[resource.type] += 1
        if (self.started >= suspect.next_attempt
                and self._delete(resource, suspect, owners)
                and expiration is None and self.statsd):
            self.statsd.incr(self._getKey('leaked', resource.type))

    def _getTags(self, thing):
        """:return: a dict of its tags, or None if it is not ours."""
        tags = thing.metadata or {}
        if not self.system_id or tags.get(
                'zuul_system_id') != self.system_id:
            return None
        return tags

    def _isNeeded(self, resource, owners):
        """:return: whether a known node or upload needs a resource."""
        if not owners:
            # Nodes may share it.
            return (self._required is None
                    or resource.unique_id in self._required)
        node_id, upload_id = (owners.get(tag) for tag in RECORDS)
        node = node_id and self.nodes.get(node_id)
        return bool(
            (node and not self._isSecond(resource, node))
            or (upload_id
                and self.uploads.getItem(upload_id)))

    def _isSecond(self, resource, node):
        """:return: whether a resource is an instance of a launched node that
            has another one, which is listed, too."""
        if node.state in ProviderNode.CREATE_STATES:
            return False
        # Only the driver knows.
        getInstanceId = getattr(
            self.endpoint, 'getInstanceId', lambda node: None)
        instance_id = getInstanceId(node)
        return (instance_id != resource.unique_id
                and (resource.type, instance_id) in self.listed)

    def _mayBeNeeded(self, resource, owners):
        """:return: whether a record that is not in the caches, or has another
            content there, may need it."""
        if not owners:
            return bool(self._unknown_nodes)
        return any(
            self._synchronized_client.exists(f'{RECORDS[tag]}/{uuid}')
            and not (tag == 'zuul_node_uuid'
                     and self._isStillSecond(resource, uuid))
            for tag, uuid in owners.items())

    def _isStillSecond(self, resource, node_id):
        """:return: as :meth:`_isSecond`, by what is in ZooKeeper now."""
        if (node := self.nodes.get(node_id)) is None:
            return False
        return self._isSecond(resource, type(node).fromZK(
            self.nodes.session.context(), node.getPath()))

    @functools.cached_property
    def _synchronized_client(self):
        # The connected server may be behind the one that another launcher
        # writes to.
        self.client.sync(RECORDS['zuul_node_uuid'])
        return self.client

    @functools.cached_property
    def _unknown_nodes(self):
        """Ids of nodes whose records are unread or unreadable."""
        try:
            known = self._synchronized_client.get_children(
                RECORDS['zuul_node_uuid'])
        except NoNodeError:
            # The path appears with the first node.
            return set()
        return set(known) - {
            node.uuid for node in self.nodes.getAll()}

    @functools.cached_property
    def _required(self):
        """Ids of resources that nodes share, or None if not known."""
        if not self.knowsAll(
                self.endpoint, self.turn.providers):
            return None
        try:
            found = {
                resource.unique_id for resource
                in self.endpoint.listRequiredInfrastructureResources()}
            for node in self.nodes.getAll():
                if node.endpoint_name == self.endpoint.name:
                    found.update(node.getRequiredResources())
        except Exception as error:
            self._complain('shared resources', error)
            return None
        return found

    def _delete(self, resource, suspect, owners):
        """Ask the driver to delete a leaked resource.

        :param dict owners: tag -> id of the record that it belonged to.
        :return: whether the driver has accepted the request.
        """
        suspect.attempts += 1
        backoff = getBackoff(suspect.attempts - 1, self.turn.interval,
                             self.longest_backoff)
        what = (resource.type, resource.unique_id,
                self.endpoint.canonical_name)
        self._audit(resource, owners, result=audit.Result.BEGUN)
        try:
            self.endpoint.deleteResource(resource)
        except Exception as error:
            self.turn.noteError(error)
            suspect.error = describe(error)
            self._audit(resource, owners, result=audit.Result.FAILED,
                        reason=suspect.error)
            self.log.exception(
                'Unable to delete leaked %s %s at endpoint %s; retrying in '
                '%s seconds:', *what, backoff)
            return False
        finally:
            # A cloud may accept a deletion and not carry it out.
            suspect.next_attempt = self.turn.clock() + backoff
        self._audit(resource, owners)
        self.log.info('Deleted leaked %s %s at endpoint %s', *what)
        return True

    def _audit(self, resource, owners, **fields):
        audit.tell(
            audit.Event.DELETED, node=owners.get('zuul_node_uuid'),
            upload=owners.get('zuul_upload_uuid'), resource=resource.type,
            external_id=resource.unique_id,
            endpoint=self.endpoint.canonical_name,
            launcher=self.nodes.session.identifier, **fields)

    def _complain(self, thing, error, log=None):
        """Log why something is kept, once for as long as that lasts."""
        try:
            complaint = f'{thing}: {error!r}'
        except Exception:
            complaint = f'{type(thing)}: {error!r}'
        self.complaints.add(complaint)
        if complaint not in self.memory.complaints:
            (log or self.log.warning)('Kept at endpoint %s: %s',
                                      self.endpoint.canonical_name, complaint)

    def _reportGauges(self):
        for resource_type in self.endpoint.getResourceTypes():
            self.unmanaged[resource_type] += 0
            self.leaked[resource_type] += 0
        for kind, counter in (('unmanaged', self.unmanaged),
                              ('leaked', self.leaked)):
            for resource_type, number in counter.items():
                self.statsd.gauge(self._getKey(kind, resource_type), number)

    def _getKey(self, kind, resource_type):
        endpoint = makeSafe(self.endpoint.canonical_name)
        return f'zuul.provider_endpoint.{endpoint}.{kind}.{resource_type}'
