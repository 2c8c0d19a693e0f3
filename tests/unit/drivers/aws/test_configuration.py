"""What is said in git and in zuul.conf."""

import configparser
import types

import pytest
import voluptuous as vs
from zuul.driver.aws import AwsDriver as ZuulsDriver
from zuul.provider import BaseProvider

from tests.unit.drivers.aws.sites import (
    EXAMPLE,
    EXAMPLES,
    LAYOUT,
    getProvider,
    makeConnection,
)
from zuul_nodes.configloader.errors import AttributeValueError
from zuul_nodes.drivers import getOwn
from zuul_nodes.drivers.aws import AwsDriver
from zuul_nodes.drivers.aws.provider import AwsProvider


def load(text=EXAMPLE):
    """:return: the provider of a configuration; nobody is asked."""
    return getProvider(None, makeConnection(), text)


def test_is_ours():
    assert issubclass(AwsDriver, ZuulsDriver)
    assert AwsDriver is not ZuulsDriver


def test_example():
    config = configparser.ConfigParser(interpolation=None)
    config.read(EXAMPLES / 'aws.conf')
    connection = AwsDriver().getConnection('aws', config['connection aws'])
    assert (connection.rate, connection.api_timeout) == (10, 30)
    provider = load()
    debian, ubuntu = (provider.images[name] for name in ('debian', 'ubuntu'))
    assert (debian.image_id, debian.image_owners) == (
        'debian-12-amd64-*', ['136693071363'])
    assert ubuntu.image_filters[1] == {
        'name': 'architecture', 'values': ['x86_64']}
    assert (provider.images['built'].format,
            provider.images['built'].import_timeout) == ('raw', 3600)
    assert provider.flavors['small'].instance_type == 't3.medium'
    assert provider.flavors['small'].spot_fallback is None
    assert provider.flavors['cheap'].spot_fallback == 'on-demand'
    assert provider.resource_limits == {'instances': 50}
    label = provider.labels['debian']
    assert getOwn(label)['zones'] == ['us-east-1a', 'us-east-1b']
    assert (label.console_log, len(label.subnet_ids)) == (True, 3)


def test_defaults():
    provider = load(LAYOUT.replace('IMAGE', 'ami-1').replace(
        'FLAVOR', '').replace('LABEL', ''))
    assert provider.images['base'].image_owners == []
    assert provider.labels['small'].console_log is False
    # Zuul's five minutes would be too short.
    assert provider.images['built'].import_timeout == 4 * 3600


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('spot-fallback: on-demand', 'spot-fallback: spot', 'spot-fallback'),
    ("image-name: debian-12-amd64-*", 'python-path: auto',
     'image-filters|image-id'),
])
def test_wrong_values(old, new, message):
    assert old in EXAMPLE
    with pytest.raises((AttributeValueError, vs.Invalid), match=message):
        load(EXAMPLE.replace(old, new))


# Of an image it is said that a value is wrong, and not which.
@pytest.mark.parametrize(('where', 'unsaid'), [
    ('instance-type: t3.medium', ''), ('key-name: zuul', ''),
    ('- name: built', '|not a valid value')])
@pytest.mark.parametrize(('value', 'message'), [
    ('volume-size: 0', 'from 1 to 65536'),
    ('volume-size: 65537', 'from 1 to 65536'),
    ('volume-size: yes', 'expected a whole number'),
    ('iops: 99', 'from 100 to 256000'),
    ('iops: 1e3', 'iops'),
    ('throughput: -1', 'from 125 to 2000'),
    ('throughput: 2001', 'from 125 to 2000'),
])
def test_numbers_are_such_as_aws_takes(where, unsaid, value, message):
    indent = ' ' * 8
    text = LAYOUT.replace('IMAGE', 'ami-1').replace('FLAVOR', '').replace(
        'LABEL', '')
    assert where in text
    assert load(text)
    with pytest.raises((AttributeValueError, vs.Invalid),
                       match=message + unsaid):
        load(text.replace(where, f'{where}\n{indent}{value}'))


@pytest.mark.parametrize('value', ['-1', 'yes', 'many'])
@pytest.mark.parametrize('name', ['instances', 'L-1216C47A'])
def test_limits_are_numbers(name, value):
    text = LAYOUT.replace('IMAGE', 'ami-1').replace('FLAVOR', '').replace(
        'LABEL', '').replace('    region:', (
            f'    resource-limits: {{{name}: {value}}}\n    region:'))
    with pytest.raises((AttributeValueError, vs.Invalid),
                       match='resource-limits'):
        load(text)


def test_hosts_may_be_in_several_zones():
    text = LAYOUT.replace('IMAGE', 'ami-1').replace(
        'FLAVOR', 'dedicated-host: true')
    zones = 'availability-zones: [us-east-1a, us-east-1b]'
    assert load(text.replace('LABEL', zones))
    with pytest.raises(Exception, match='availability-zone is required'):
        load(text.replace('LABEL', ''))


def test_records_become_our_providers():
    provider = load()
    raw = provider._compressData(provider.serialize(None))
    read = BaseProvider._fromRaw(None, raw, None, {
        'connections': types.SimpleNamespace(
            connections={'aws': provider.connection}),
        'system_id': 'system', 'zk_client': None})
    assert type(read) is AwsProvider
    assert read.flavors['cheap'].spot_fallback == 'on-demand'
    assert read.images['debian'].image_owners == ['136693071363']


@pytest.mark.parametrize('value', ['0', '-1', 'long', 'inf', 'nan'])
def test_timeout(value):
    with pytest.raises(Exception, match=r'connection aws.*"api_timeout"'):
        makeConnection(api_timeout=value)


def test_timeout_is_a_minute():
    assert makeConnection().api_timeout == 60
