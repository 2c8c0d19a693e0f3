"""What is real of Zuul here, and how it is put together."""

import contextlib
import functools
import logging
import types
import uuid

import pytest
from zuul import model
from zuul.lib import tracing
from zuul.lib.connections import ConnectionRegistry
from zuul.model_api import MODEL_API
from zuul.web import FakeCacheKey
from zuul.zk.components import COMPONENT_REGISTRY
from zuul.zk.zkobject import LocalZKContext

from tests.fixtures.launcher import CONNECTIONS
from tests.fixtures.shelf.shelf_maker import ShelfDriver
from tests.unit.configloader.tenant import NODES, enter
from tests.unit.drivers.zuul.site import FILES, ImageTenant, Scheduler, Site


@pytest.fixture
def seams(monkeypatch):
    """Zuul as the plugin leaves it, in this process, with a cloud "rack"
    whose images have a format, unlike those of static nodes."""
    enter(monkeypatch)
    configure = ConnectionRegistry.configure

    @functools.wraps(configure)
    def configureAll(self, config, **kwargs):
        self.drivers['shelf'] = ShelfDriver()
        config.read_dict(CONNECTIONS)
        configure(self, config, triggers=True, reporters=True, **kwargs)
    monkeypatch.setattr(ConnectionRegistry, 'configure', configureAll)
    enter(monkeypatch, ('zuul.executor.client', 'zuul.executor.common'))


@pytest.fixture
def loadTenant(seams):
    """:return: a function that makes a tenant, of files over :data:`FILES`
        (None is none)."""
    def load(files=(), complete=True):
        files = {key: text for key, text in
                 (FILES | dict(files)).items() if text}
        loaded = ImageTenant(files)
        assert not complete or loaded.errors == []
        return loaded
    return load


@pytest.fixture
def makeScheduler(zuul_conf):
    schedulers = []

    def make(loaded):
        schedulers.append(Scheduler(zuul_conf, loaded))
        return schedulers[-1]
    yield make
    for scheduler in schedulers:
        scheduler.zk_client.disconnect()


@pytest.fixture
def enqueue(monkeypatch):
    """:return: a function that makes an item of a branch, with a build for
        each of its jobs; as Zuul has it while it works on it."""
    # What a service sets up once.
    monkeypatch.setattr(tracing, 'startSavedSpan', lambda *_, **__: None)
    monkeypatch.setattr(COMPONENT_REGISTRY, 'registry',
                        types.SimpleNamespace(model_api=MODEL_API))
    log = logging.getLogger('test')
    with contextlib.ExitStack() as stack:
        def make(loaded, pipeline, event=None, layout=None):
            manager = loaded.layout.pipeline_managers[pipeline]
            context = stack.enter_context(LocalZKContext(log))
            stack.enter_context(manager.currentContext(context))
            branch = model.Branch(loaded.tenant.getProject(NODES)[1])
            branch.branch = 'main'
            branch.ref = 'refs/heads/main'
            branch.cache_stat = FakeCacheKey()
            item = model.QueueItem.new(
                context, queue=model.ChangeQueue.new(
                    context, manager=manager),
                changes=[branch], event=event and model.EventInfo.fromEvent(
                    event, None))
            if layout:
                manager._layout_cache[layout.uuid] = layout
                item.updateAttributes(context, layout_uuid=layout.uuid)
            item.freezeJobGraph(layout or loaded.layout, context, None,
                                skip_file_matcher=True,
                                redact_secrets_and_keys=True)
            for job in item.getJobs():
                item.addBuild(model.Build.new(
                    context, job=job, build_set=item.current_build_set,
                    uuid=uuid.uuid4().hex, result='SUCCESS', end_time=100))
            return item
        yield make


@pytest.fixture
def makeSite(loadTenant, makeScheduler, enqueue):
    """:return: a function of files, as ``loadTenant``; makes a Site."""
    def make(files=()):
        loaded = loadTenant(files)
        return Site(loaded, makeScheduler(loaded), enqueue)
    return make
