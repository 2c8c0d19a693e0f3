"""What clouds and consoles say does not give the operator away."""

import itertools
import sys
import time

from kazoo.exceptions import NoNodeError
import pytest
from zuul.zk.zkobject import ZKObject

from tests.fixtures.racks import cloud
from zuul_nodes import messages
from zuul_nodes.cmd.check import asking
from zuul_nodes.drivers import Check, PermanentError
from zuul_nodes.drivers.fake import FakeAdapter
from zuul_nodes.launcher.providers.failures import describe
from zuul_nodes.quickstart import ports

PROJECT = '5f0b9d7a6c4e4f3b9a8d7c6b5a493827'
UUID = '7b2c1f0a-1111-2222-3333-444455556666'
# What a cloud says, and what tenants see of it.
OF_OPERATORS = [
    ('AWS: You are not authorized. User: arn:aws:iam::123456789012:user/zuul '
     'is not allowed: ec2:RunInstances. Encoded authorization failure '
     'message: AbC_dEf-123',
     'AWS: You are not authorized. User: [account] is not allowed: '
     'ec2:RunInstances.'),
    ('The account 123456789012 is blocked',
     'The account [account] is blocked'),
    ('Could not connect to the endpoint URL: "https://ec2.example.com/"',
     'Could not connect to the [address]'),
    ("HTTPSConnectionPool(host='keystone.acme.example', port=5000): Max "
     'retries exceeded with url: /v3/auth/tokens?nocatalog (Caused by '
     'NameResolutionError("HTTPSConnection(host=\'keystone.acme.example\', '
     'port=5000): Failed to resolve \'keystone.acme.example\'"))',
     '[address]: Max retries exceeded [address] (Caused by '
     'NameResolutionError("[address]: Failed [address]"))'),
    ('Unable to connect to http://10.0.0.5:5000/v3: refused',
     'Unable to connect to [address] refused'),
    ('no route to 10.0.0.5, 10.0.0.6:6443, [fd00::1]:6443 and fd00::2',
     'no route to [address], [address], [address] and [address]'),
    ('lookup api.acme.internal and api.acme.example:6443: no such host',
     'lookup [address] and [address]: no such host'),
    (f'Could not find project: {PROJECT}.',
     'Could not find project: [account].'),
    (f'Policy forbids it for {{"project_id": "{PROJECT}", "user": "{UUID}"}}',
     'Policy forbids it for {"project_id": "[account]", "user": "[account]"}'),
    ("403 POST https://compute.googleapis.com/v1/projects/acme: 'projects/"
     "acme/zones/a' lacks it", "403 POST [address] 'projects/[account]/zones/"
     "a' lacks it"),
    ("API not enabled in project 98765432109, consumer "
     "'project_number:98765432109'", 'API not enabled in project [account], '
     "consumer 'project_number:[account]'"),
    ('denied to zuul@acme.iam.gserviceaccount.com', 'denied to [account]'),
    (f"The client '{UUID}' with object id '{UUID}' may not do it over scope "
     f"'/subscriptions/{UUID}/resourceGroups/zuul/providers/x'",
     "The client '[account]' with object id '[account]' may not do it over "
     "scope '[account]/providers/x'"),
    ('User "system:serviceaccount:zuul:launcher" cannot create "pods"',
     'User "[account]" cannot create "pods"'),
    ("No such file: '/etc/zuul/clouds/key.pem' or ~/.config/openstack/x.yaml",
     "No such file: '[path]' or [path]"),
]
SECRETS = [
    ('X-Auth-Token: gAAAAABlxyzabcdefghijklmnop', 'X-Auth-Token: [secret]'),
    ('the token gAAAAABlxyzabcdefghijklmnop', 'the token [secret]'),
    ('Authorization: Bearer abcdefghijk', 'Authorization: [secret]'),
    ('it said Bearer abcdefghijk', 'it said Bearer [secret]'),
    ('{"password": "pa ss", "n": 1}', '{"password": [secret], "n": 1}'),
    ('adminPass ok, os_password=hunter2, b', 'adminPass ok, '
     'os_password=[secret], b'),
    ('AKIAIOSFODNN7EXAMPLE', '[secret]'),
    ('ya29.a0Af_H-6S', '[secret]'),
    ('eyJhbGciOiJI.eyJzdWIiOiIx.SflKxw', '[secret]'),
    ('-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- ok',
     '[secret] ok'),
    ('-----BEGIN PRIVATE KEY-----\nMII', '[secret]'),
]
HARMLESS = [
    'There is no image debian-12.raw; flavors are m1.small, n1-standard-4',
    'at 12:30:45 of 2026-01-02, req-7b2c1f0a-1111-2222-3333-444455556666',
    'expected the host key ssh-ed25519 SHA256:abcDEF+/xyz; found none',
    'the host key is SHA256:/abc+/DEF/xyz, not SHA256:X+/abc/DEF/xyz',
    f'The upload {PROJECT} of the image debian is gone',
    f'Image {UUID} could not be found.',
    'no provider example.com%2Fnodes/rack any more at endpoint rack/rack',
    'Quota exceeded for instances: Requested 1, used 10 of 10 (HTTP 403)',
    'The instance type "m5.large" is not supported in us-east-1a',
    '0/3 nodes are available: kubernetes.io/os=linux, 50m/1Gi, 1.30.2.1-gke',
    "'NoneType' object is not subscriptable",
]


@pytest.mark.parametrize(('said', 'shown'), OF_OPERATORS + SECRETS)
def test_a_tenant_does_not_see_it(said, shown):
    assert messages.forTenants(said) == shown
    assert describe(RuntimeError(said)) == shown


@pytest.mark.parametrize(('said', 'shown'), SECRETS)
def test_no_log_has_a_secret(said, shown):
    assert messages.withoutSecrets(said) == shown
    try:
        raise RuntimeError(said)
    except RuntimeError as error:
        text = messages.getTraceback(error)
    assert text.endswith(f'RuntimeError: {shown}')
    assert 'test_messages.py' in text


@pytest.mark.parametrize('said', [said for said, _ in OF_OPERATORS[1:]
                                  if '?' not in said])
def test_operators_see_the_rest(said):
    assert messages.withoutSecrets(said) == said


@pytest.mark.parametrize('said', HARMLESS)
def test_what_says_nothing_of_the_operator_stays(said):
    assert messages.forTenants(said) == said


def test_what_is_cut_does_not_show_part_of_a_secret():
    said = 'x' * (messages.LENGTH - 10) + ' password=hunter2 ' + 'y' * 100
    shown = describe(RuntimeError(said))
    assert len(shown) <= messages.LENGTH
    assert 'hun' not in shown


def test_a_message_is_one_line_of_text():
    assert messages.forTenants('a\r\n\x1b[2J b\0c') == 'a [2J b c'


@pytest.mark.parametrize('part', [
    'a', '1.', ':', 'a:', '/a', 'token', 'host ', 'a.', 'a-', '"', ' ', '0',
    '-----BEGIN A-----', 'Connection(', "token='", 'x@', '[::', 'user ',
    'projects/', 'http://', 'fd00:', '?', 'Bearer ', 'eyJ'])
def test_no_message_keeps_a_launcher_busy(part):
    """Who has access to a console writes it, too."""
    began = time.process_time()
    messages.forTenants(part * (messages.MOST // len(part)))
    assert time.process_time() - began < 0.5


# All the way

SAID = (f'Forbidden at https://nova.acme.example/v2.1/{PROJECT}/servers for '
        'arn:aws:iam::123456789012:user/zuul, X-Auth-Token: '
        'gAAAAABlxyzabcdefghijklmnop, see /etc/zuul/clouds.yaml')
HIDDEN = ('acme.example', PROJECT, '123456789012', 'gAAAAAB', '/etc/zuul')


def readAll(client, path='/zuul'):
    """:return: yields all that ZooKeeper has, as records decompress it."""
    try:
        data, _ = client.get(path)
        names = client.get_children(path)
    except NoNodeError:
        return
    # Before the content of some, there is the name of their class.
    for raw in filter(None, (data, data.partition(b'\0')[2])):
        yield ZKObject._decompressData(raw)[1].decode(errors='replace')
    for name in names:
        yield from readAll(client, f'{path}/{name}')


@pytest.mark.parametrize('error', [PermanentError, RuntimeError])
def test_what_a_cloud_says_is_in_no_record(
        steps, racks, caplog, kazoo_client, error):
    caplog.set_level('DEBUG', 'zuul')
    steps.setLayout(cloud('one', 'two', launch_attempts=1))
    racks.errors['one'] = error(SAID)
    racks.slow.add('two')
    request = steps.addRequest('big')
    steps.runUntil(lambda: 'two' in racks.created)
    reasons = request.provider_node_data[0]['reasons']
    assert list(reasons.values()) == [
        'Forbidden at [address] for [account], X-Auth-Token: [secret], see '
        '[path]']
    records = list(readAll(kazoo_client))
    assert any('Forbidden at [address]' in each for each in records)
    for record, hidden in itertools.product(records, HIDDEN):
        assert hidden not in record
    # The operator is told, but for the secret.
    assert f'https://nova.acme.example/v2.1/{PROJECT}' in caplog.text
    assert '/etc/zuul/clouds.yaml' in caplog.text
    assert 'gAAAAAB' not in caplog.text


CONSOLE = '''
- image: {name: image, type: cloud}
- flavor: {name: small}
- label: {name: label, image: image, flavor: small}
- section:
    name: section
    connection: fake
    launch-attempts: 1
    images: [image]
    flavors: [small]
- provider:
    name: provider
    section: section
    labels: [{name: label, boot-timeout: 1, console-log: true}]
'''


@pytest.mark.settings(host_key_retry=0.1)
def test_what_a_console_says_is_in_no_record(
        launchFake, monkeypatch, caplog, kazoo_client):
    monkeypatch.setattr(
        FakeAdapter, 'getConsoleLog', lambda *args: f'Booting\n{SAID}\n')
    launcher = launchFake(port=str(ports.freePort()))
    launcher.setLayout(CONSOLE)
    launcher.fail(launcher.addRequest('label'))
    records = list(readAll(kazoo_client))
    assert any('its console ends with: ' in each for each in records)
    for record, hidden in itertools.product(records, HIDDEN):
        assert hidden not in record
    assert '/etc/zuul/clouds.yaml' in caplog.text
    assert 'gAAAAAB' not in caplog.text


class Provider:
    name = 'rack'

    class connection:
        connection_name = 'rack'
        connection_config = {}

    class getEndpoint:
        canonical_name = 'rack/'

    def getChecks(self):
        def ask():
            raise RuntimeError(SAID)
        yield Check('permission', 'list', 'connection rack', ask)


@pytest.mark.parametrize('full', [False, True])
def test_the_log_of_a_job_that_checks_does_not_have_it(capsys, full):
    result, = asking.ask([Provider()], 10, sys.stderr, full).results
    if full:
        assert '/etc/zuul/clouds.yaml' in result.problem
        assert 'gAAAAAB' not in result.problem
    else:
        assert result.problem.startswith(
            'Not answered: RuntimeError: Forbidden at [')
        assert not any(each in result.problem for each in HIDDEN)
