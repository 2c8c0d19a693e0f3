"""Events of images reach a pipeline, with all that they say."""

import json

import pytest
from zuul import model
from zuul.driver.zuul import ZuulDriver, zuulmodel
from zuul.zk.event_queues import TenantTriggerEventQueue

from tests.unit.drivers.zuul.site import PIPELINES_FILE, WHERE
from zuul_nodes.drivers.zuul import layouts
from zuul_nodes.drivers.zuul.event import ZuulTriggerEvent


def makeEvents(driver):
    return [driver.getImageBuildEvent(['debian'], *WHERE),
            driver.getImageValidateEvent(['debian'], *WHERE, 'upload'),
            driver.getImageDeleteEvent(['debian'], *WHERE, 'artifact')]


def copy(event, event_class):
    """:return: what another process reads."""
    return event_class.fromDict(json.loads(json.dumps(event.toDict())))


def test_events_through_zookeeper(loadTenant, makeScheduler):
    loaded = loadTenant()
    queue = TenantTriggerEventQueue(
        makeScheduler(loaded).zk_client, loaded.connections, 'tenant')
    for event in makeEvents(loaded.driver):
        queue.put(event.trigger_name, event)
    infos = [model.EventInfo.fromEvent(event, None) for event in queue]
    assert [(info.image_names, info.image_upload_uuid, info.image_build_uuid)
            for info in infos] == [
        (['debian'], None, None), (['debian'], 'upload', None),
        (['debian'], None, 'artifact')]


def test_nothing_is_lost(loadTenant):
    driver = loadTenant().driver
    event = driver.getImageDeleteEvent(['debian'], *WHERE, 'artifact')
    stock = ZuulDriver().getImageDeleteEvent(['debian'], *WHERE, 'artifact')
    assert vars(copy(event, ZuulTriggerEvent)).keys() == vars(stock).keys()
    varying = {'zuul_event_id', 'timestamp', 'span_context',
               'arrived_at_scheduler_timestamp'}
    for name, value in vars(stock).items():
        if name in varying:
            assert getattr(event, name) or not value
        else:
            assert getattr(event, name) == value


def test_events_of_zuuls_own_class():
    for event in makeEvents(ZuulDriver()):
        read = copy(event, ZuulTriggerEvent)
        assert read.type == event.type
        assert read.image_names == ['debian']
        assert read.image_upload_uuid == event.image_upload_uuid
        assert read.image_build_uuid is None


def test_zuuls_own_class_reads_ours(loadTenant):
    for event in makeEvents(loadTenant().driver):
        assert copy(event, zuulmodel.ZuulTriggerEvent).type == event.type


def test_driver_takes_the_place_of_zuuls(loadTenant):
    connections = loadTenant().connections
    assert connections.getTriggerEventClass('zuul') is ZuulTriggerEvent


@pytest.mark.parametrize('name', layouts.EVENTS)
def test_events_trigger_their_pipeline(loadTenant, name):
    loaded = loadTenant()
    event = next(event for event in makeEvents(loaded.driver)
                 if event.type == name)
    assert [manager.pipeline.name for manager
            in loaded.layout.pipeline_managers.values()
            if any(event_filter.matches(event, None) for event_filter
                   in manager.pipeline.event_filters)
            ] == layouts.makeImageLayout(loaded.tenant).pipelines[name]


@pytest.mark.parametrize('event', [
    'image-built', '[image-build, image-remove]', '{regex: image-.*}'])
def test_unknown_event(loadTenant, event):
    loaded = loadTenant({PIPELINES_FILE: f'''
- pipeline:
    name: build
    manager: independent
    trigger:
      zuul:
        - event: {event}
'''}, complete=False)
    assert 'build' not in loaded.layout.pipeline_managers
    assert loaded.errors
