"""Creates the records of new nodes."""

import time
import uuid

from opentelemetry import trace
from zuul.launcher.subnodes import SubnodeProviderNode, SubnodeStateMachine
from zuul.lib import tracing
from zuul.model import ProviderNode, QuotaInformation

from zuul_nodes import audit, nodenotes
from zuul_nodes.drivers import (
    getNodeAttributes,
    getNodeTags,
    getZones,
    turnZones,
)
from zuul_nodes.launcher.providers import getIdentity, isGiven
from zuul_nodes.launcher.zookeeper import makeRecord


class NewRecords:
    """Creates the records of new nodes.

    :param Layouts layouts: hold the providers of the nodes.
    :param Ownership ownership: knows which connections this launcher handles.
    :param str system_id: Zuul's; in the tags of all instances.
    :param Settings settings: ``min_retention_limit``.
    """

    def __init__(self, layouts, ownership, system_id, settings):
        self.layouts = layouts
        self.ownership = ownership
        self.system_id = system_id
        self.retention_limit = settings.min_retention_limit

    def makeNode(self, slot, state, request=None):
        """Create the records of a planned node.

        :param Slot slot: the planned node and its provider.
        :param State state: the first state of the node.
        :param NodesetRequest request: the request that the node is for; None
            for min-ready.
        :return: a list of unwritten records: the node, or a host followed by
            its slots.
        """
        # The quota of a node is the same in all zones.
        provider = self.layouts.scope.forNode(
            slot.provider, slot.label_name, '')
        label = provider.labels[slot.label_name]
        common = self._getAttributes(provider, label, state)
        common['az'] = slot.zone or next(iter(turnZones(
            getZones(label), common['request_time'])), None)
        own = {}
        if request:
            own = self._getRequestAttributes(request)
            # A host has one image, also when its slots serve other requests.
            common['image_upload_uuid'] = _getUpload(
                request, provider.images[label.image])
        host = slot.host
        node_id = host.node_id if host else slot.node_id
        node = _make(
            provider.driver.getProviderNodeClass(), uuid=node_id,
            tags=getNodeTags(
                provider, self.system_id, label, node_id, request),
            **common | ({'subnodes': list(host.subnode_ids)}
                        if host else own))
        return [node, *self._makeSlots(node, common, own, slot)]

    def create(self, transaction, records, owner):
        """Add new records to a transaction.

        :param list records: from :meth:`makeNode`.
        :param owner: the request or the provider that the node is for.
        """
        for record in records:
            transaction.audit(audit.Event.CREATED, owner, record,
                              result=audit.Result.BEGUN)
            # If this launcher launches the node, it gets its lock at once.
            transaction.create(record, lock=record is records[0]
                               and self.ownership.isMyNode(record))

    def makeStaticNode(self, provider, entry):
        """Create the records of a static node.

        :param entry: the provider's definition of the static node.
        :return: a list of records as from :meth:`makeNode`.
        """
        label = provider.labels[entry.label]
        # The entries of Zuul's own driver have no number of slots.
        slots = getattr(entry, 'slots', label.slots) or 1
        slot = StaticSlot(entry, provider, slots if slots > 1 else 0)
        common = self._getAttributes(
            self.layouts.scope.forNode(provider, label.name, ''), label,
            ProviderNode.State.REGISTERING)
        common |= {
            'connection_port': entry.connection_port,
            'username': entry.username,
            'label_aliases': list({*entry.aliases, *label.aliases})}
        node = _make(
            provider.driver.getProviderNodeClass(), uuid=slot.node_id,
            tags=getNodeTags(
                provider, self.system_id, label, slot.node_id),
            **common, **({'subnodes': slot.host.subnode_ids}
                         if slot.host else {}))
        return [node, *self._makeSlots(node, common, {}, slot)]

    def _makeSlots(self, node, common, own, slot):
        """:return: yields a record for each slot of a host."""
        if not slot.host:
            return
        for number, subnode_id in enumerate(slot.host.subnode_ids):
            yield _make(
                SubnodeProviderNode, uuid=subnode_id, slot=number,
                main_node_id=node.uuid,
                create_state_machine=SubnodeStateMachine(),
                # The quota of the slots is part of the host's.
                **common | {'quota': QuotaInformation()}
                | (own if subnode_id == slot.node_id else {}))

    def _getAttributes(self, provider, label, state):
        image = provider.images[label.image]
        now = time.time()
        return {
            'state': state,
            'state_time': now,
            'request_time': now,
            'label': label.name,
            'label_config_hash': label.config_hash,
            'label_aliases': list(label.aliases),
            'max_ready_age': label.max_ready_age,
            'max_age': label.max_age,
            'min_retention_time': label.min_retention_time and min(
                label.min_retention_time, self.retention_limit),
            'host_key_checking': label.host_key_checking,
            'boot_timeout': label.boot_timeout,
            'snapshot_timeout': label.snapshot_timeout,
            'snapshot_expiration': label.snapshot_expiration,
            'executor_zone': label.executor_zone,
            'connection_name': provider.connection_name,
            'connection_port': image.connection_port,
            'connection_type': image.connection_type,
            'username': image.username,
            'python_path': image.python_path,
            'shell_type': image.shell_type,
            'quota': provider.getQuotaForLabel(label),
            'provider': provider.canonical_name,
            'endpoint_name': provider.getEndpoint().name,
            'reuse': label.reuse,
            'node_properties': getNodeAttributes(label),
            # A static node exists for all tenants.
            **nodenotes.make(
                getIdentity(provider, label.name).made_of,
                None if isGiven(provider.driver) else provider.tenant_name),
        }

    def _getRequestAttributes(self, request):
        with trace.use_span(request.span):
            span = trace.get_tracer('zuul').start_span('ProviderNode')
        return {
            # Spans are not recorded when traces are not exported.
            'span_info': tracing.getSpanInfo(span)
            if span.is_recording() else None,
            'zuul_event_id': request.zuul_event_id,
            # Some drivers choose the same zone for all nodes of a request by
            # this time.
            'request_time': request.request_time,
        }


class StaticSlot:
    """A static node in the form of a :class:`.planner.Slot`."""

    def __init__(self, entry, provider, number):
        self.node_id = entry.node_id
        self.provider = provider
        self.label_name = entry.label
        self.host = StaticHost(self.node_id, number) if number else None


class StaticHost:
    def __init__(self, node_id, number):
        self.node_id = node_id
        self.subnode_ids = [uuid.uuid4().hex for _ in range(number)]


def _getUpload(request, image):
    """:return: the upload that the node validates; None for other nodes of a
        validation job."""
    if image.name in (request.image_names or [image.name]):
        return request.image_upload_uuid
    return None


def _make(record_class, **attributes):
    # Each record needs a copy, because drivers add properties of their record.
    attributes['node_properties'] = dict(attributes['node_properties'])
    return makeRecord(record_class, **attributes)
