"""What is said in git of imports."""

import types

from openstack.config import OpenStackConfig
import pytest
from zuul.provider import BaseProvider

from tests.unit.drivers.openstack.sites import (
    LAYOUT,
    getConnection,
    getProvider,
)
from zuul_nodes.configloader.errors import (
    AttributeValueError,
    UnknownAttributeError,
)
from zuul_nodes.drivers.openstack.provider import (
    OpenstackProvider,
    OpenstackProviderSchema,
)

METHOD = '        import-method: web-download\n'
DEFAULTS = '    image-defaults: {import-method: web-download}\n'


@pytest.fixture
def load(zk_client, clouds_yaml):
    """:return: a function that makes a provider of a configuration."""
    connection = getConnection()
    yield lambda text: getProvider(zk_client, connection, text)
    connection.driver.stop()


def test_import_method(load):
    provider = load(LAYOUT)
    image = provider.images['debian']
    assert image.import_method == 'web-download'
    # What Zuul's image has.
    assert (image.format, image.import_timeout, image.connection_type) == (
        'qcow2', 300, 'ssh')
    assert provider.images['stock'].image_id == 'base'


def test_nothing_is_imported_unless_it_is_wanted(load):
    text = LAYOUT.replace(METHOD, '')
    assert load(text).images['debian'].import_method == 'none'


@pytest.mark.parametrize('own', ['', 'none'])
def test_defaults(load, own):
    text = LAYOUT.replace(
        METHOD, METHOD.replace('web-download', own) if own else '')
    text = text.replace('    images:\n', DEFAULTS + '    images:\n')
    assert load(text).images['debian'].import_method == (
        own or 'web-download')


def test_wrong_method(load):
    with pytest.raises(AttributeValueError, match='image "debian"'):
        load(LAYOUT.replace('web-download', 'copy-image'))


def test_image_format(load):
    image = load(LAYOUT).images['debian']
    other = load(LAYOUT.replace(METHOD, '        image-format: raw\n'))
    assert (image.format, other.images['debian'].format) == ('qcow2', 'raw')
    # An image that has the other format is another one.
    assert image.zuul_config_hash != (
        other.images['debian'].zuul_config_hash)


def test_format_of_the_cloud_is_read_once_until_its_file_changes(
        load, clouds_yaml, monkeypatch):
    read = []
    getOne = OpenStackConfig.get_one

    def note(self, *args, **kwargs):
        read.append(kwargs)
        return getOne(self, *args, **kwargs)
    monkeypatch.setattr(OpenStackConfig, 'get_one', note)
    assert [load(LAYOUT).images['debian'].format for _ in range(3)] == [
        'qcow2'] * 3
    assert len(read) == 1
    clouds_yaml.write_text(clouds_yaml.read_text().replace(
        'region_name:', 'image_format: raw\n    region_name:'))
    assert load(LAYOUT).images['debian'].format == 'raw'


def test_wrong_format(load):
    with pytest.raises(AttributeValueError, match='one of qcow2, raw'):
        load(LAYOUT.replace(METHOD, '        image-format: tar\n'))


def test_images_that_there_are_already(load):
    with pytest.raises(UnknownAttributeError, match='"import-method"'):
        load(LAYOUT.replace('        image-id: base\n', METHOD))


def test_images_are_not_made_anew(load):
    """How an image gets into the cloud does not change what it is."""
    hashes = {load(text).images['debian'].zuul_config_hash
              for text in (LAYOUT, LAYOUT.replace(METHOD, ''))}
    assert len(hashes) == 1
    assert 'import-method' not in list(
        OpenstackProviderSchema().getImageConfigKeys())


def test_records_become_our_providers(load, zk_client):
    provider = load(LAYOUT)
    raw = provider._compressData(provider.serialize(None))
    read = BaseProvider._fromRaw(None, raw, None, {
        'connections': types.SimpleNamespace(
            connections={'cloud': provider.connection}),
        'system_id': 'system', 'zk_client': zk_client})
    assert type(read) is OpenstackProvider
    assert read.images['debian'].import_method == 'web-download'
