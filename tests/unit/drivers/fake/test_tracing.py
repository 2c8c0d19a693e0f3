"""Traces of requests, compared with those of Zuul's own launcher."""

import re

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
    InMemorySpanExporter,
)
import pytest
from zuul.launcher.server import Launcher as ZuulLauncher
from zuul.lib import tracing
from zuul.model import NodesetRequest
from zuul.zk.components import COMPONENT_REGISTRY
from zuul.zk.zkobject import ZKContext

from tests.fixtures import executor
from tests.fixtures.docblocks import findBlocks
from tests.fixtures.launcher import Started
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.fake import stock
from tests.unit.drivers.fake.layout import LAYOUT


@pytest.fixture
def exporter(monkeypatch):
    """:return: has the spans that have ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # Zuul's launcher sets up the export of traces itself.
    monkeypatch.setattr(tracing.Tracing, '__init__', lambda *args: None)
    monkeypatch.setattr(tracing.Tracing, 'stop', lambda *args: None)
    monkeypatch.setattr(trace, '_TRACER_PROVIDER', provider)
    monkeypatch.setattr(ZuulLauncher, 'tracer', provider.get_tracer('zuul'))
    return exporter


def startZuuls(config):
    launcher, _ = stock.start(config)
    return launcher


def startOurs(config):
    launcher = Started(config, 'one.example.com')
    launcher.writeLayout(LAYOUT)
    return launcher


@pytest.fixture
def trees(zuul_conf, tmp_path, exporter):
    """Run launchers one after the other.

    :return: a function of the function that starts a launcher; returns the
        tree of spans of a request that it has served.
    """
    stock.configure(zuul_conf, tmp_path)

    def run(start):
        exporter.clear()
        launcher = start(zuul_conf)
        try:
            names = serve(launcher)
        finally:
            launcher.stop()
            launcher.join()
            COMPONENT_REGISTRY.clearRegistry()
        return makeTree(exporter.get_finished_spans(), names)
    return run


def serve(launcher):
    """Have a request served, as by the scheduler and an executor.

    :return: dict, uuid of a record -> what it is.
    """
    root = trace.get_tracer('zuul').start_span('NodesetRequest')
    with ZKContext(launcher.zk_client, None, None, launcher.log) as context:
        request = NodesetRequest.new(
            context, tenant_name='tenant', pipeline_name='check',
            labels=['label', 'label'], job_name='build',
            zuul_event_id='event', span_info=tracing.getSpanInfo(root))
        nodes = stock.waitUntilServed(launcher, request)
        executor.use(context, nodes)
        request = launcher.api.getNodesetRequest(request.uuid)
        waitFor(lambda: request.event_state == request.EventState.COMPLETE)
        request.delete(context)
    waitFor(lambda: not list(launcher.api.getProviderNodes()))
    root.end()
    return {request.uuid: 'request',
            **{node.uuid: 'node' for node in nodes}}


def makeTree(spans, names):
    """
    :param dict names: uuid -> what takes its place in attributes.
    :return: name, attributes and children of the only root.
    """
    def describe(span):
        return (span.name, tuple(sorted(
            (key, names.get(value, value))
            for key, value in span.attributes.items()
            # The node may still know its request when it goes, or not.
            if key != 'request_uuid' or span.name == 'ProviderNodeCreate')),
            tuple(sorted(describe(child) for child in spans if child.parent
                         and child.parent.span_id == span.context.span_id)))
    assert len({span.context.trace_id for span in spans}) == 1
    root, = (span for span in spans if span.parent is None)
    return describe(root)


def test_request_has_the_span_tree_of_zuuls_launcher(trees):
    ours = trees(startOurs)
    assert ours == trees(startZuuls)
    name, _, (processing,) = ours
    assert name == 'NodesetRequest'
    assert list(outline(processing)) == [
        'NodesetRequestProcessing', *2 * [
            '  ProviderNode', '    ProviderNodeCreate',
            '    ProviderNodeDelete']]
    # As the reference shows it, for a request of one node.
    block, = (block for block in findBlocks('reference/metrics.rst')
              if block.language == 'text')
    assert [re.match(r' *\S+', line)[0] for line in block.text.splitlines()
            ] == list(dict.fromkeys(outline(processing)))


def outline(tree, depth=0):
    """:return: yields the names in a tree, indented."""
    name, _, children = tree
    yield 2 * depth * ' ' + name
    for child in children:
        yield from outline(child, depth + 1)
