"""Ends requests, and notifies the scheduler."""

from opentelemetry import trace
from zuul.lib import tracing
from zuul.model import NodesetRequest, NodesProvisionedEvent, ProviderNode

from zuul_nodes import audit, labelproblems
from zuul_nodes.launcher.zookeeper import setAttributes

State = NodesetRequest.State
NodeState = ProviderNode.State


class RequestEnds:
    """Ends requests, and notifies the scheduler.

    :param Records records: of all nodes and requests.
    :param Session session: writes the requests.
    :param result_events: tenant -> pipeline -> queue of its result events.
    :param Stats stats: reports the ends.
    """

    def __init__(self, records, session, result_events, stats):
        self.records = records
        self.session = session
        self.result_events = result_events
        self.stats = stats

    def addFulfilled(self, transaction, node, log):
        """Fulfil a request together with the last of its nodes, if this
        launcher holds the request's lock.

        :param Transaction transaction: the transaction that makes the node
            ready.
        """
        request = self.records.getNodesetRequest(node.request_id)
        if (request is None or request.state != State.ACCEPTED
                or not request.hasLock()):
            return
        others = [self.records.getProviderNode(node_id)
                  for node_id in request.nodes if node_id != node.uuid]
        if len(others) < len(request.nodes) and all(
                other is not None and other.state == NodeState.READY
                and other.request_id == request.uuid for other in others):
            log.debug('Marking request %s as %s', request, State.FULFILLED)
            self.add(transaction, request, State.FULFILLED)

    def explain(self, request, reason):
        """:return: the reason, with the configuration errors that have caused
            it."""
        problems = labelproblems.read(
            self.session.client, request.tenant_name)
        found = dict.fromkeys(
            problems[name] for name in request.labels if name in problems)
        return '. '.join((str(reason), *found))

    def add(self, transaction, request, state, **attributes):
        """Add the end of a request and its event for the pipeline to a
        transaction.

        :param State state: the final state.
        :param attributes: other attributes of the request to write.
        """
        if state == State.FULFILLED and audit.isEnabled():
            for entry in attributes.get(
                    'provider_node_data', request.provider_node_data):
                transaction.audit(
                    audit.Event.USED,
                    self.records.getProviderNode(entry['uuid']), request)
        transaction.update(
            request, state=state,
            event_state=request.EventState.COMPLETE, **attributes)
        transaction.unlock(request)
        transaction.sendResult(
            self.result_events[request.tenant_name][
                request.pipeline_name],
            NodesProvisionedEvent(request.uuid, request.buildset_uuid))
        transaction.callAfterwards(_endSpan, request)
        transaction.callAfterwards(self.stats.reportRequest, request)

    def startSpan(self, request):
        """Start the span of a request when the launcher first sees it, so that
        the span includes the wait."""
        if getattr(request, 'span', None) is None:
            with trace.use_span(tracing.restoreSpan(request.span_info)):
                setAttributes(request, span=trace.get_tracer(
                    'zuul').start_span('NodesetRequestProcessing'))


def _endSpan(request):
    request.span.set_attributes(request.getSpanAttributes())
    request.span.end()


def isDone(request):
    """:return: whether the request is complete for launchers."""
    return (request.state in request.FINAL_STATES
            and request.event_state == request.EventState.COMPLETE)
