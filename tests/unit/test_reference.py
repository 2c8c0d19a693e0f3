"""What the reference says of drivers' attributes."""

import configparser
import pathlib

import pytest

from zuul_nodes.drivers.fake import FakeDriver
from zuul_nodes.drivers.openstack import OpenstackDriver
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.reference import format, getSections

EXAMPLES = pathlib.Path(__file__).parents[2] / 'doc/source/examples'


def getAttributes(driver_class):
    return {title: {each.name: each for each in attributes}
            for title, attributes in getSections(driver_class)}


def test_what_a_driver_declares_is_there():
    found = getAttributes(FakeDriver)
    options = found['connection (in zuul.conf)']
    assert options.keys() >= FakeDriver.connection_attributes.keys()
    cores, = found['flavor'].values()
    assert '\n'.join(format([cores])) == (
        '``cores`` (number, default ``1``)\n'
        '   How many cores a node has.\n')
    assert found['image'].keys() == {'image-format', 'image-id'}


def test_choices_are_explained():
    method = getAttributes(OpenstackDriver)['image']['import-method']
    assert 'web-download' in method.doc
    kind = getAttributes(None)['image']['connection-type']
    assert [value for value, _ in kind.choices] == ['winrm', 'ssh']


@pytest.mark.parametrize('driver_class', [
    None, FakeDriver, OpenstackDriver, StaticDriver])
def test_every_attribute_is_explained(driver_class):
    for attributes in getAttributes(driver_class).values():
        assert [name for name, each in attributes.items()
                if not each.doc.strip()] == []


def test_roles_of_zuuls_documentation_are_text():
    section = getAttributes(None)['provider and section']['section']
    assert ':attr:' in section.doc
    assert ':attr:' not in '\n'.join(format([section]))


def test_the_example_of_a_fake_cloud():
    config = configparser.ConfigParser()
    config.read(EXAMPLES / 'fake.conf')
    connection = FakeDriver().getConnection(
        'fake', dict(config['connection fake']))
    assert connection.failure_rate == 0.2
    assert connection.instances == 100
