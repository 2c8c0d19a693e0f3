"""Drivers of ours that extend those of Zuul."""

import sys
import types

import pytest
import voluptuous as vs
from zuul.driver.openstack import OpenstackDriver, openstackprovider
from zuul.lib.voluputil import Nullable, Optional, Required
from zuul.provider import BaseProvider

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.openstack import provider

SIZE = {Required('size'): int}


@pytest.fixture
def module(monkeypatch):
    """A module with a driver of ours."""
    module = types.ModuleType('zuul_nodes.drivers.ours')
    # As when the class is made that reads records in place of Zuul's.
    subclasses = dict(BaseProvider._subclasses)
    subclasses[b'openstack'] = provider.OpenstackProvider
    monkeypatch.setattr(BaseProvider, '_subclasses', subclasses)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def makeDriver(module, **methods):
    for method in methods.values():
        method.__module__ = module.__name__
    module.Driver = type('Driver', (
        extension.ExtendedDriver, OpenstackDriver), {
            '__module__': module.__name__,
            'provider_class': provider.OpenstackProvider, **methods})
    return module.Driver


def choose():
    return extension.chooseDriver('zuul_nodes.drivers.ours:Driver',
                                  OpenstackDriver)


class TestChooseDriver:
    def test_ours(self, module, capsys):
        driver = makeDriver(module)
        assert choose() is driver
        assert not capsys.readouterr().err

    def test_without_a_library(self, module, capsys):
        assert choose() is OpenstackDriver
        assert ('using the driver "openstack" of Zuul'
                in capsys.readouterr().err)
        assert (BaseProvider._subclasses[b'openstack']
                is openstackprovider.OpenstackProvider)

    def test_zuuls_class_is_another_one(self, module, capsys):
        makeDriver(module, getEndpoint=lambda self, provider, region: None)
        assert choose() is OpenstackDriver
        error = capsys.readouterr().err
        assert ('OpenstackDriver.getEndpoint takes (self, provider)'
                in error)


class TestSchemas:
    def test_ours_takes_the_place(self):
        schema = extension.extendSchema(
            vs.Schema({Required('id'): str, Required('name'): str}),
            {Optional('id'): Nullable(str)})
        assert schema({'name': 'a'}) == {'name': 'a', 'id': None}

    def test_conditions_stay(self):
        def refuse(value):
            raise vs.Invalid('no')
        schema = extension.extendSchema(vs.All(vs.Schema({}), refuse), SIZE)
        with pytest.raises(vs.Invalid, match='no'):
            schema({'size': 1})

    def test_all_that_an_image_can_be(self):
        image = extension.extendImageClass(
            openstackprovider.OpenstackProviderImage, cloud=SIZE)
        cloud = {'name': 'a', 'type': 'cloud', 'image-id': 'b'}
        with pytest.raises(vs.Invalid, match='size'):
            image.schema(cloud)
        assert image.schema({**cloud, 'size': 1})['size'] == 1
        assert 'size' not in image.schema({'name': 'a', 'type': 'zuul'})

    def test_defaults_need_nothing(self):
        flavor = extension.extendClass(
            openstackprovider.OpenstackProviderFlavor, SIZE)
        assert 'size' not in flavor.inheritable_schema({})
        assert flavor.inheritable_schema({'size': 1})['size'] == 1
