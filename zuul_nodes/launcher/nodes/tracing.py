"""Traces the launch and deletion of nodes, with Zuul's span names."""

from opentelemetry import trace
from zuul.lib import tracing


def traceCreation(node):
    """Trace the launch of a node that is ready or has failed."""
    machine = node.create_state_machine
    if machine is None:
        return
    with trace.use_span(tracing.restoreSpan(node.span_info)):
        _traceFrom(machine.start_time, 'ProviderNodeCreate', node)


def traceDeletion(node):
    """Trace the deletion of a node, and end the span of its life."""
    span = tracing.restoreSpan(node.span_info)
    with trace.use_span(span, end_on_exit=True):
        span.set_attributes(_getAttributes(node))
        if machine := node.delete_state_machine:
            _traceFrom(machine.start_time, 'ProviderNodeDelete', node)


def _traceFrom(start_time, name, node):
    trace.get_tracer('zuul').start_span(
        name, start_time=start_time, attributes=_getAttributes(node)).end()


def _getAttributes(node):
    return node.getSpanAttributes()
