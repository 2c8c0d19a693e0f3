"""What is declared, and what becomes of it."""

import logging
import threading
from unittest.mock import Mock

import pytest
import voluptuous as vs
from zuul.provider import BaseProvider

from tests.unit.drivers.framework.adapters import (
    CONFIG,
    ListDriver,
    RegionDriver,
    ZoneDriver,
)
from zuul_nodes.drivers import (
    Ability,
    Adapter,
    PermanentError,
    TemporaryError,
)
from zuul_nodes.drivers.fake import FakeDriver


def test_an_ability_needs_its_methods():
    with pytest.raises(TypeError, match='does not define uploadImage'):
        class Broken(Adapter):
            abilities = frozenset({Ability.IMAGES})


def test_records_are_read_by_the_last_driver_of_that_name():
    driver = ListDriver()

    class Other(ListDriver):
        """Of the same name."""
    assert BaseProvider._subclasses[b'list'] is driver.provider_class
    other = Other()
    assert BaseProvider._subclasses[b'list'] is other.provider_class


def test_options_of_a_connection(caplog):
    driver = ListDriver()
    with caplog.at_level(logging.WARNING):
        connection = driver.getConnection('list', {
            'driver': 'list', 'rate': '2.5', 'color': 'red'})
    assert connection.rate == 2.5
    assert connection.colour == 'blue'
    assert connection.api_timeout == 60
    assert 'Did you mean "colour"?' in caplog.text
    with pytest.raises(Exception, match=r'\[connection x\]: "rate"'):
        driver.getConnection('x', {'driver': 'list', 'rate': 'much'})


def test_secrets_are_not_told():
    with pytest.raises(Exception, match='"password"') as raised:
        RegionDriver().getConnection(
            'x', {'driver': 'region', 'password': 'geheim'})
    assert 'geheim' not in str(raised.value)


def test_attributes_are_known():
    schema = RegionDriver().getProviderSchema()
    good = {key: value for key, value in CONFIG.items()} | {
        'images': [], 'labels': [], 'flavors': [
            {'name': 'flavor', 'cores': 4}]}
    assert schema(good)['flavors'][0]['cores'] == 4
    with pytest.raises(vs.Invalid):
        schema(good | {'flavors': [{'name': 'flavor', 'core': 4}]})
    with pytest.raises(vs.Invalid):
        schema(good | {'flavors': [{'name': 'flavor', 'cores': 'four'}]})


def test_images_are_made_for_those_that_take_them():
    image = {'name': 'image', 'type': 'zuul'}
    FakeDriver.image_class.schema(image)
    with pytest.raises(vs.Invalid, match='type'):
        ListDriver.image_class.schema(image)


def test_zones_are_an_attribute_of_those_that_have_them():
    label = {'name': 'label', 'az': 'a'}
    ZoneDriver.label_class.schema(label)
    with pytest.raises(vs.Invalid):
        ListDriver.label_class.schema(label)


def test_regions_are_endpoints(makeSite):
    site = makeSite(RegionDriver, password='long enough')
    assert site.endpoint.adapter.place == {'region': 'here'}
    assert site.endpoint.canonical_name == 'list/here'
    assert site.provider.getEndpoint() is site.endpoint


def test_quota_is_remembered(makeSite):
    site = makeSite(RegionDriver, password='long enough')
    label = site.provider.labels['label']
    with pytest.raises(KeyError):
        site.provider.getQuotaForLabel(label)
    for _ in range(3):
        site.provider.refreshQuotaForLabel(label, False)
    assert len(site.adapter.getCalls('getNeeds')) == 1
    assert site.provider.getQuotaForLabel(label).getResources() == {
        'instances': 1, 'cores': 2}
    assert site.endpoint.refreshQuotaLimits(False)
    assert site.provider.getEndpointLimits().quota['cores'] == 40


def test_label_that_the_cloud_does_not_have_needs_one_instance(
        makeSite, monkeypatch):
    """A launch is tried, and fails, until the cloud has the flavor."""
    site = makeSite(RegionDriver, password='long enough')
    label = site.provider.labels['label']
    with monkeypatch.context() as context:
        context.setattr(site.adapter, 'getNeeds', Mock(
            side_effect=PermanentError('There is no such flavor')))
        site.provider.refreshQuotaForLabel(label, False)
        needs = site.provider.getQuotaForLabel(label).getResources()
        assert needs == {'instances': 1}
    site.provider.refreshQuotaForLabel(label, False)
    assert site.provider.getQuotaForLabel(label).quota['cores'] == 2


def test_call_of_a_driver_does_not_block_the_launcher(site):
    site.driver.steps_have_threads = False
    go_on = threading.Event()
    site.adapter.createInstance = lambda spec: go_on.wait(30)
    assert site.endpoint.calls.perform('x', 'createInstance', None) is None
    assert not site.endpoint.calls.isIdle('x', 'createInstance')
    go_on.set()
    while (task := site.endpoint.calls.perform(
            'x', 'createInstance', None)) is None:
        pass
    assert task.result() is True


def test_call_that_does_not_end_times_out(makeSite):
    site = makeSite(api_timeout='0.001')
    site.driver.steps_have_threads = False
    go_on = threading.Event()
    site.adapter.createInstance = lambda spec: go_on.wait(30)
    with pytest.raises(TimeoutError):
        while True:
            site.endpoint.calls.perform('x', 'createInstance', None)
    go_on.set()


def test_list_that_fails_for_long_raises_its_error(site):
    site.endpoint.listing.failure_timeout = -1
    site.adapter.errors['listInstances'] = [TemporaryError('down')]
    with pytest.raises(TemporaryError):
        site.endpoint.listing.get(0)


def test_calls_are_timed(site):
    class Statsd:
        def timing(self, key, value):
            keys.append(key)
    keys = []
    site.driver.statsd = Statsd()
    site.adapter.errors['listInstances'] = [TemporaryError('down')]
    site.endpoint.listing.get(0)
    site.endpoint.listing.get(0)
    assert keys == ['zuul.nodes.driver.list.list.listInstances.error',
                    'zuul.nodes.driver.list.list.listInstances.success']
