"""What the reference says of drivers' attributes."""

import configparser
import pathlib

import pytest
from zuul.driver.azure import AzureDriver as ZuulsAzureDriver

from tests.fixtures.exampledrivers import DRIVERS
from zuul_nodes.drivers.aws import AwsDriver
from zuul_nodes.drivers.azure import AzureDriver
from zuul_nodes.drivers.fake import FakeDriver
from zuul_nodes.drivers.kubernetes import KubernetesDriver
from zuul_nodes.drivers.openstack import OpenstackDriver
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.reference import (
    addAnchors,
    format,
    formatSections,
    getSections,
)
from zuul_nodes.reference.abilities import COLUMNS, NOT, getRow
from zuul_nodes.reference.connections import getOptions

EXAMPLES = pathlib.Path(__file__).parents[2] / 'doc/source/examples'


def getAttributes(driver_class):
    return {title: {each.name: each for each in attributes}
            for title, attributes in getSections(driver_class)}


def test_what_a_driver_declares_is_there():
    found = getAttributes(FakeDriver)
    options = found['connection (in zuul.conf)']
    assert options.keys() >= FakeDriver.connection_attributes.keys()
    cores, = found['flavor'].values()
    assert '\n'.join(format([cores], shows_origin=False)) == (
        '.. zuul:attr:: cores\n'
        '   :default: 1\n'
        '   :type: number\n\n'
        '   Number of cores of a node.\n')
    assert found['image'].keys() == {'image-format', 'image-id'}


def test_choices_are_explained():
    method = getAttributes(OpenstackDriver)['image']['import-method']
    assert 'web-download' in method.doc
    kind = getAttributes(None)['image']['connection-type']
    assert [value for value, _ in kind.choices] == ['winrm', 'ssh']


def test_attributes_are_zuuls_or_ours():
    """Nested ones are, too, and what only an alternative has."""
    found = getAttributes(OpenstackDriver)
    limits = found['provider and section']['resource-limits']
    assert limits.is_zuuls
    parts = {each.name: each.is_zuuls for each in limits.parts}
    assert (parts['cores'], parts['ports']) == (True, False)
    assert found['image']['image-id'].is_zuuls
    assert not found['image']['import-method'].is_zuuls
    options = found['connection (in zuul.conf)']
    assert options['cloud'].is_zuuls
    assert not options['api_timeout'].is_zuuls


def test_what_any_driver_has():
    found = getAttributes(None)
    assert {each.name for attributes in found.values()
            for each in attributes.values() if not each.is_zuuls} == {
        'dynamic-tags', 'min-ready-times', 'node-attributes', 'priority',
        'request-timeout'}
    assert found['label']['min-ready'].doc


def test_a_driver_that_zuul_has_not_is_ours():
    for attributes in getAttributes(FakeDriver).values():
        assert not any(each.is_zuuls for each in attributes.values())


def test_a_driver_of_zuul_alone_has_nothing_of_ours():
    for attributes in getAttributes(ZuulsAzureDriver).values():
        assert all(each.is_zuuls for each in attributes.values())


def test_alternatives_of_a_schema_are_all_there():
    kind = getAttributes(KubernetesDriver)['label']['kind']
    assert [value for value, _ in kind.choices] == ['pod', 'namespace']


def test_what_drivers_can_do():
    rows = {driver_class.name: dict(zip(
        (column.title for column in COLUMNS), getRow(driver_class),
        strict=True)) for driver_class in (
            AzureDriver, FakeDriver, KubernetesDriver, OpenstackDriver,
            StaticDriver)}
    assert set(rows['fake'].values()) == {'ours'}
    assert {rows['static'][title] for title in (
        'upload', 'zones', 'quota', 'other leaks')} == {NOT}
    assert [rows['azure'][title] for title in (
        'upload', 'import', 'zones', 'quota', 'checks')] == [
            "Zuul's", NOT, 'ours', "Zuul's", 'ours']
    assert [rows['kubernetes'][title] for title in (
        'upload', 'console log', 'quota', 'other leaks', 'checks')] == [
            NOT, 'ours', 'ours', "Zuul's", 'ours']
    assert [rows['openstack'][title] for title in (
        'upload', 'import', 'snapshots', 'zones')] == [
            "Zuul's", 'ours', 'ours', "Zuul's"]


def test_roles_of_zuuls_documentation_refer_to_our_objects():
    lines = list(formatSections(AwsDriver))
    text = '\n'.join(lines)
    assert '\n.. zuul:attr:: provider[aws].images[cloud]\n' in text
    assert ':zuul:attr:`provider[aws].images[cloud].image-filters`' in text
    assert (':zuul:value:`provider[aws].images[zuul].import-method.snapshot`'
            in text)
    # What all drivers have is described once.
    assert ':zuul:attr:`label.slots`' in text
    assert ':zuul:attr:`provider.section`' in '\n'.join(formatSections())
    assert not any(line.lstrip().startswith(':attr:') for line in lines)


def test_search_leads_to_objects():
    signature = {'ids': ['attr-label.name']}
    other = {'ids': ['attr-label']}
    for _ in range(2):
        addAnchors([signature, other])
        assert signature['ids'] == ['attr-label.name', 'attr-label-name']
        assert other['ids'] == ['attr-label']


def test_attributes_belong_to_a_type_of_image():
    image = getAttributes(AwsDriver)['image']
    assert image['image-id'].image_type == 'cloud'
    assert image['import-method'].image_type == 'zuul'
    assert image['userdata'].image_type == ''


def test_what_zuul_lacks_is_marked():
    note = '*Added by zuul-nodes.*'
    lines = list(formatSections(AwsDriver))
    fallback = lines.index('   .. zuul:attr:: spot-fallback')
    assert note in lines[fallback + 2]
    # A driver that Zuul lacks needs no marks.
    assert note not in '\n'.join(formatSections(FakeDriver))


@pytest.mark.parametrize('name', ['aws', 'azure', 'openstack'])
def test_schemas_describe_what_connections_read(name):
    read = getOptions(DRIVERS[name])
    options = getAttributes(DRIVERS[name])['connection (in zuul.conf)']
    # The bounds of tenants are read when providers are checked.
    assert read.keys() <= options.keys()
    for option, default in read.items():
        if isinstance(default, int | float):
            assert options[option].default == default


@pytest.mark.parametrize('name', ['any', *DRIVERS])
def test_attributes_have_a_type_or_choices(name):
    assert [f'{kind}: {each.name}'
            for kind, attributes in getSections(DRIVERS.get(name))
            for each in attributes
            if not each.values and not each.choices] == []


def test_the_example_of_a_fake_cloud():
    config = configparser.ConfigParser()
    config.read(EXAMPLES / 'fake.conf')
    connection = FakeDriver().getConnection(
        'fake', dict(config['connection fake']))
    assert connection.failure_rate == 0.2
    assert connection.instances == 100
