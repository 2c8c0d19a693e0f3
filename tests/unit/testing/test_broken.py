"""Adapters with a bug each, which the kit has to find and to name."""

import dataclasses
import inspect
import time
import uuid

import pytest

from tests.fixtures.kit.fake import SilentCloud, getSilencePath
from zuul_nodes.drivers import Instance, Optional, State
from zuul_nodes.drivers.fake import FakeAdapter, FakeDriver
from zuul_nodes.testing import DriverConformance, site
from zuul_nodes.testing.conformance import openSites
from zuul_nodes.testing.images import Storage

pytestmark = pytest.mark.conformance


class NoDeleteAdapter(FakeAdapter):
    def deleteInstance(self, instance_id):
        pass


class NoDelete(FakeDriver):
    """The cloud is told to delete nothing."""

    name = 'no-delete'
    adapter_class = NoDeleteAdapter


class TwiceAdapter(FakeAdapter):
    def createInstance(self, spec):
        return super().createInstance(dataclasses.replace(
            spec, name=uuid.uuid4().hex))


class Twice(FakeDriver):
    """Names are not unique, though it says so."""

    name = 'twice'
    adapter_class = TwiceAdapter


class MoreAdapter(FakeAdapter):
    def createInstance(self, spec):
        super().createInstance(dataclasses.replace(
            spec, name=uuid.uuid4().hex))
        return super().createInstance(spec)


class More(FakeDriver):
    """It makes instances besides the one that it tells of."""

    name = 'more'
    adapter_class = MoreAdapter


class NoTagsAdapter(FakeAdapter):
    def createInstance(self, spec):
        return super().createInstance(dataclasses.replace(spec, tags={}))


class NoTags(FakeDriver):
    """The tags are lost."""

    name = 'no-tags'
    adapter_class = NoTagsAdapter


class NoZoneAdapter(FakeAdapter):
    def listInstances(self):
        for instance in super().listInstances():
            instance.az = None
            yield instance


class NoZone(FakeDriver):
    """Nobody knows where instances are."""

    name = 'no-zone'
    adapter_class = NoZoneAdapter


class NoAddressAdapter(FakeAdapter):
    def listInstances(self):
        for instance in super().listInstances():
            yield Instance(instance.id, State.READY, instance.tags)


class NoAddress(FakeDriver):
    """Nobody can log in."""

    name = 'no-address'
    adapter_class = NoAddressAdapter


class NoLimitsAdapter(FakeAdapter):
    def getLimits(self):
        return {}


class NoLimits(FakeDriver):
    """It tells no limits, though it says so."""

    name = 'no-limits'
    adapter_class = NoLimitsAdapter


class StrictAdapter(FakeAdapter):
    def deleteImage(self, image_id):
        if image_id not in self.cloud.listImages():
            raise KeyError(f'there is no image {image_id}')
        super().deleteImage(image_id)


class Strict(FakeDriver):
    """What is gone can not be deleted."""

    name = 'strict'
    adapter_class = StrictAdapter


class PatientAdapter(FakeAdapter):
    def listInstances(self):
        while getSilencePath(self.connection.path).exists():
            time.sleep(0.1)
        yield from super().listInstances()


class Patient(FakeDriver):
    """It waits for answers for ever."""

    name = 'patient'
    adapter_class = PatientAdapter


class Curious(Patient):
    """It asks for its limits whenever it is asked for them."""

    name = 'curious'


Curious.provider_class.getEndpointLimits = (
    lambda provider: provider.endpoint.listInstances())


class LossyAdapter(FakeAdapter):
    def uploadImage(self, spec, path):
        super().uploadImage(spec, path)
        # What is left of another attempt is not found by its tags.
        self.cloud.addImage(uuid.uuid4().hex, {})
        return spec.upload_id


class Lossy(FakeDriver):
    """There is more than there should be of an image."""

    name = 'lossy'
    adapter_class = LossyAdapter


class Silent(FakeDriver):
    """Does not say what its attribute is."""

    name = 'silent'
    flavor_attributes = {Optional('cores', default=1): int}


class Kit(DriverConformance):
    __test__ = False

    def __init__(self, driver_class):
        self.driver_class = driver_class


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    # What is missing does not come by waiting.
    monkeypatch.setattr(site, 'PATIENCE', 4)


@pytest.fixture
def storage(tmp_path):
    storage = Storage(tmp_path / 'storage')
    yield storage
    storage.end()


@pytest.mark.parametrize(
    ('driver_class', 'scenario', 'message', 'arguments'), [
        (NoDelete, 'test_life', r"not everything is deleted .*: \['np", {}),
        (Twice, 'test_unique_names', 'when it was called again', {}),
        (More, 'test_unique_names', 'several instances of the same name', {}),
        (NoTags, 'test_life', 'has the tag zuul_node_uuid', {}),
        (NoTags, 'test_leak', 'still exists, although the record', {}),
        (NoZone, 'test_zones', 'no zone', {}),
        (NoAddress, 'test_life', 'no address', {}),
        (NoLimits, 'test_limits', 'cloud has no capacity', {}),
        (Strict, 'test_image_faults',
         "deleteImage has raised KeyError.'there is no image",
         {'kind': 'kill-after', 'way': 'upload'}),
        (Lossy, 'test_image', 'not everything is deleted', {'way': 'upload'}),
        (Patient, 'test_unanswered_calls', 'has not ended in', {}),
        (Curious, 'test_answers_from_memory', 'calls the cloud', {}),
        (Silent, 'test_documentation', 'flavor_attributes: cores', {}),
    ])
def test_bug(request, tmp_path, tmp_path_factory, storage, driver_class,
             scenario, message, arguments):
    """The scenario fails, and says why."""
    kit = Kit(driver_class)
    cloud = SilentCloud(tmp_path / 'cloud')
    function = getattr(kit, scenario)
    with openSites(request.config, tmp_path_factory, driver_class,
                   cloud) as make_site:
        known = {'cloud': cloud, 'makeSite': make_site, 'storage': storage,
                 **arguments}
        names = inspect.signature(function).parameters
        if 'site' in names:
            known['site'] = make_site()
            known['site'].start()
        with pytest.raises(
                (AssertionError, pytest.fail.Exception), match=message):
            function(**{name: known[name] for name in names})
