"""What is said in git and in zuul.conf."""

import configparser
import json
import types

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
import pytest
from zuul.provider import BaseProvider

from tests.fixtures.layout import makeLayout
from tests.unit.drivers.gce.sites import EXAMPLES, LAYOUT
from zuul_nodes.configloader.errors import (
    AttributeValueError,
    UnknownAttributeError,
)
from zuul_nodes.drivers import (
    LoginError,
    PermanentError,
    Resource,
    TemporaryError,
)
from zuul_nodes.drivers.gce import GceDriver


def getConnection(**changes):
    config = configparser.ConfigParser()
    config.read(EXAMPLES / 'gce.conf')
    return GceDriver().getConnection('gce', {
        **config['connection gce'], **changes})


def load(text=LAYOUT):
    """:return: the provider of a configuration, as a tenant writes it."""
    connection = getConnection()
    layout = makeLayout(text)
    provider_config, = layout.provider_configs.values()
    return connection.driver.getProvider(
        None, connection, 'tenant', provider_config.canonical_name,
        provider_config.flattenConfig(layout, {'gce': connection}), 'system')


def test_example():
    connection = getConnection()
    assert (connection.project, connection.bucket, connection.rate) == (
        'example-ci', 'example-ci-images', 10)
    provider = load()
    assert (provider.region, provider.use_internal_ip) == (
        'us-central1', False)
    debian, built = (provider.images[name] for name in ('debian', 'built'))
    assert (debian.image_family, debian.image_project) == (
        'debian-12', 'debian-cloud')
    assert (built.format, built.username) == ('raw', 'zuul')
    small, large = (provider.flavors[name] for name in ('small', 'large'))
    assert (small.machine_type, small.market_type, small.public_ipv4,
            small.nested_virtualization, small.vtpm) == (
        'e2-standard-2', 'on-demand', True, False, None)
    assert (large.market_type, large.nested_virtualization) == ('spot', True)
    label = provider.labels['built']
    assert (label.volume_size, label.volume_type, label.network_tags) == (
        40, 'pd-balanced', ['ci-node'])
    assert label.service_account is None


@pytest.mark.parametrize('old, new, error, message', [
    ('market-type: spot', 'market-type: cheap', AttributeValueError,
     '"market-type"'),
    ('region: us-central1', '', AttributeValueError, '"region"'),
    ('machine-type: n2-standard-8', '', AttributeValueError,
     '"machine-type"'),
    ('network-tags: [', 'networks: [', UnknownAttributeError, '"networks"'),
    ('import-timeout: 1800', 'image-format: qcow2', AttributeValueError,
     'image "built"'),
    ('region: us-central1', 'region: a b', AttributeValueError,
     '"region"'),
])
def test_what_is_wrong(old, new, error, message):
    assert old in LAYOUT
    with pytest.raises(error, match=message):
        load(LAYOUT.replace(old, new))


def test_image_has_to_be_said(makeSite):
    site = makeSite(LAYOUT.replace('image-family: debian-12', ''))
    with pytest.raises(PermanentError, match='"debian" has neither'):
        site.adapter.createInstance(site.makeSpec())


def test_image_and_family_exclude_one_another():
    with pytest.raises(AttributeValueError, match=(
            r'The image "debian" of the provider "gce-us" .*: an image has '
            'either "image-id" or "image-family", not both')):
        load(LAYOUT.replace('image-family: debian-12', '''image-id: debian
        image-family: debian-12'''))


def test_provider_replaces_the_family_of_its_section():
    provider = load(LAYOUT.replace('section: gce', '''section: gce
    images: [{name: debian, image-id: mine}]'''))
    assert provider.images['debian'].image_id == 'mine'
    assert provider.images['debian'].image_family is None


@pytest.mark.parametrize('old, new, what', [
    ('volume-size: 40', f'volume-size: {size}',
     'expected a whole number from 4 to 65536')
    for size in ('0', '3', '65537')] + [
    ('volume-size: 40', 'volume-size: yes', 'expected a whole number'),
    ('volume-size: 40', 'volume-size: 40.5', 'expected a whole number'),
    ('volume-size: 40', 'volume-size: -40', 'expected a whole number'),
    ('volume-type: pd-balanced', 'volume-type: ../pd', 'a name of lower-case'),
    ('machine-type: e2-standard-2', 'machine-type: a/b',
     'a name of lower-case'),
    ('[ci-node]', '[CI]', '"CI" is not a valid network tag'),
    ('[ci-node]', '["' + 'a' * 64 + '"]', 'is not a valid network tag'),
    ('[ci-node]', str([f'a{i}' for i in range(65)]),
     'at most 64 network tags'),
    ('network-tags:', 'metadata: {a b: c}\n      network-tags:',
     '"a b" is not a valid key'),
    ('network-tags:', 'metadata: {a: ' + 'b' * 262145
     + '}\n      network-tags:', '"a" has more than 262144 bytes'),
    *(('machine-type: n2-standard-8', 'machine-type: n1-standard-8\n        '
       f'accelerators: {{type: {gpu}, count: {count}}}', what)
      for gpu, count, what in (
          ('nvidia-tesla-t4', 'no', 'expected a number'),
          ('nvidia-tesla-t4', '0', 'whole number from 1 to 16'),
          ('a/b', '1', 'a name of lower-case'))),
    ('machine-type: n2-standard-8', 'machine-type: n2-standard-8\n        '
     'confidential-type: SGX', '"confidential-type"'),
    ('import-timeout: 1800', 'guest-os-features: [gvnic]', 'such as GVNIC')])
def test_values_are_such_as_google_takes(old, new, what):
    assert old in LAYOUT
    with pytest.raises(AttributeValueError, match=what):
        load(LAYOUT.replace(old, new))


def test_image_by_name_and_by_path(gce, makeSite):
    for image_id in ('mine', 'projects/zuul/global/images/mine'):
        site = makeSite(LAYOUT.replace(
            'image-family: debian-12', f'image-id: {image_id}').replace(
            'image-project: debian-cloud', ''))
        if 'mine' not in gce.images.names:
            gce.images.create('zuul', 'mine')
        name = f'000{len(gce.instances.names)}'
        site.adapter.createInstance(site.makeSpec(name))
        assert gce.disks[f'np{name}']['sourceImage'].endswith(
            'zuul/global/images/mine')


def test_records():
    provider = load()
    raw = provider._compressData(provider.serialize(None))
    read = BaseProvider._fromRaw(None, raw, None, {
        'connections': types.SimpleNamespace(
            connections={'gce': provider.connection}),
        'system_id': 'system', 'zk_client': None})
    assert type(read) is GceDriver.provider_class
    assert read.flavors['large'].market_type == 'spot'


def test_regions_are_endpoints(zk_client):
    connection = getConnection()
    endpoints = set()
    for region in ('us-central1', 'europe-west1', 'us-central1'):
        provider = load(LAYOUT.replace('us-central1', region))
        provider._set(driver=connection.driver, connection=connection,
                      zk_client=zk_client)
        endpoints.add(provider.getEndpoint())
    assert {each.adapter.place['region'] for each in endpoints} == {
        'us-central1', 'europe-west1'}
    assert len(endpoints) == 2


def test_project_is_missing():
    with pytest.raises(Exception, match=r'connection gce.*"project"'):
        GceDriver().getConnection('gce', {'driver': 'gce'})


@pytest.mark.parametrize('content', [None, 'no JSON', '{}'])
def test_credentials_that_are_none(tmp_path, content):
    path = tmp_path / 'secret'
    if content is not None:
        path.write_text(content)
    adapter = GceDriver.adapter_class(
        getConnection(credentials_file=str(path)), region='us-central1')
    adapter.start()
    with pytest.raises(LoginError, match=str(path)):
        adapter.listZones()
    adapter.stop()


def test_credentials(tmp_path, makeSite):
    """The library knows the file's form; nobody is asked."""
    path = tmp_path / 'key.json'
    path.write_text(json.dumps({'type': 'service_account'}))
    # A private endpoint may have no credentials.
    site = makeSite(credentials_file=str(path))
    assert site.adapter.listZones()


def test_log_in_fails_for_now(tmp_path, makeSite):
    """Google can not be reached: that says nothing of the credentials."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = tmp_path / 'key.json'
    path.write_text(json.dumps({
        'type': 'service_account', 'client_email': 'zuul@example.com',
        'private_key': key.decode(),
        'token_uri': 'http://127.0.0.1:1/token'}))
    site = makeSite(credentials_file=str(path),
                    storage_endpoint='https://127.0.0.1:1')
    with pytest.raises(TemporaryError, match='log in'):
        site.adapter.deleteResource(Resource('object', 'name', {}))


def test_google_is_imported_when_it_is_needed(runProgram):
    result = runProgram('program', '''
import sys
for name in ("api_core", "auth", "cloud", "oauth2"):
    sys.modules[f"google.{name}"] = None
from zuul_nodes.drivers.gce import GceDriver
driver = GceDriver()
connection = driver.getConnection("cloud", {"project": "zuul"})
# As in zuul-web, which begins nothing.
driver.adapter_class(connection, region="us-central1")
print("fine")
''')
    assert result.stdout == 'fine\n', result.stderr


def test_libraries_are_missing(runProgram):
    result = runProgram('program', '''
import sys
sys.modules["google.cloud.compute_v1"] = None
from zuul_nodes.drivers.gce import GceDriver
connection = GceDriver().getConnection("cloud", {"project": "zuul"})
GceDriver.adapter_class(connection, region="us-central1").start()
''')
    assert 'connection cloud' in result.stderr
    assert 'pip install zuul-nodes[gce]' in result.stderr
