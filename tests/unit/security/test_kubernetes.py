"""What pods may be, and whose secrets they may have."""

from hypothesis import example, given, settings, strategies
import pytest

from tests.fixtures.examples import countExamples
from tests.unit.drivers.kubernetes.sites import getConnection, load, write
from zuul_nodes.configloader.errors import BoundError
from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.kubernetes.allowed import findPowers

SPEC = 'kind: pod, spec: {containers: [{name: a, %s}], %s}'
CONTEXT = 'kind: pod, spec: {containers: [{name: a, securityContext: {%s}}]}'
POWERS = {
    'kind: pod, privileged: true': '"privileged"',
    'kind: pod, volumes: [{name: a, hostPath: {path: /}}]': '"hostPath"',
    SPEC % ('image: a', 'hostNetwork: true'): '"hostNetwork"',
    SPEC % ('image: a', 'hostPID: true'): '"hostPID"',
    SPEC % ('image: a', 'hostIPC: true'): '"hostIPC"',
    SPEC % ('image: a', 'volumes: [{name: a, hostPath: {path: /}}]'):
        '"hostPath"',
    SPEC % ('image: a', 'securityContext: {sysctls: [{name: kernel.msgmax, '
            'value: "1"}]}'): '"sysctl"',
    SPEC % ('image: a', 'securityContext: {seccompProfile: {type: '
            'Unconfined}}'): '"seccompProfile"',
    SPEC % ('image: a', 'initContainers: [{name: b, securityContext: '
            '{privileged: true}}]'): '"privileged"',
    SPEC % ('ports: [{containerPort: 1, hostPort: 1}]', 'volumes: []'):
        '"hostPort"',
    CONTEXT % 'privileged: true': '"privileged"',
    CONTEXT % 'capabilities: {add: [SYS_ADMIN]}': 'capabilities',
    CONTEXT % 'capabilities: {add: [ALL]}': 'capabilities',
    CONTEXT % 'procMount: Unmasked': '"procMount"',
    CONTEXT % 'windowsOptions: {hostProcess: true}': '"hostProcess"',
    CONTEXT % 'appArmorProfile: {type: Unconfined}': '"appArmorProfile"',
    CONTEXT % 'seLinuxOptions: {type: spc_t}': '"seLinuxOptions"',
}
HARMLESS = [
    'kind: pod', 'kind: namespace', 'kind: pod, privileged: false',
    'kind: pod, volumes: [{name: a, emptyDir: {}}]',
    CONTEXT % 'capabilities: {add: [CHOWN], drop: [ALL]}',
    CONTEXT % 'seccompProfile: {type: RuntimeDefault}',
]


@pytest.mark.parametrize('label', POWERS)
def test_power_over_a_machine_is_the_operators_to_give(label):
    load(write(label), getConnection())
    with pytest.raises(BoundError) as info:
        load(write(label), getConnection(allow_privileged='false'))
    message = str(info.value)
    assert POWERS[label] in message
    assert ('"allow_privileged" of [connection cluster] in zuul.conf does '
            'not allow') in message
    assert 'project example.com/nodes, branch main, file ' in message


@pytest.mark.parametrize('label', HARMLESS)
def test_what_any_pod_may_have_is_allowed(label):
    load(write(label), getConnection(allow_privileged='false'))


JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.text(max_size=3),
    lambda inner: strategies.lists(inner, max_size=3)
    | strategies.dictionaries(strategies.sampled_from([
        'containers', 'initContainers', 'securityContext', 'capabilities',
        'add', 'sysctls', 'name', 'volumes', 'ports', 'windowsOptions']),
        inner))


@given(strategies.dictionaries(strategies.sampled_from([
    'containers', 'initContainers', 'securityContext', 'volumes']), JSON))
@example({'securityContext': {'capabilities': {'add': True}}})
@example({'securityContext': {'sysctls': [{'name': []}]}})
@settings(max_examples=countExamples(4000))
def test_a_spec_that_is_anything_can_be_looked_at(spec):
    list(findPowers({}, spec))


@pytest.mark.parametrize(('option', 'value', 'label', 'is_allowed'), [
    ('namespaces', 'ci', 'kind: pod, namespace: ci', True),
    ('namespaces', 'ci', 'kind: pod, namespace: kube-system', False),
    ('namespaces', '', 'kind: pod, namespace: ci', False),
    ('namespaces', '', 'kind: pod', True),
    ('service_accounts', 'a', 'kind: pod, namespace: c, service-account: a',
     True),
    ('service_accounts', 'a', 'kind: pod, namespace: c, service-account: b',
     False),
    ('service_accounts', '', 'kind: pod, service-account: zuul-worker', True),
    ('service_accounts', 'a', SPEC % (
        'image: a', 'serviceAccountName: b'), False),
    ('service_accounts', 'a', SPEC % (
        'image: a', 'serviceAccount: b'), False),
    ('secret_namespaces', 'zuul', 'kind: pod, image-pull-secrets: '
     '[{name: registry, namespace: zuul}]', True),
    ('secret_namespaces', 'zuul', 'kind: pod, image-pull-secrets: '
     '[{name: registry, namespace: tenant-b}]', False),
])
def test_names_are_within_the_bounds(option, value, label, is_allowed):
    connection = getConnection(**{option: value})
    if is_allowed:
        load(write(label), connection)
        return
    with pytest.raises(BoundError, match=(
            f'"{option}" of \\[connection cluster\\] in zuul.conf does not')):
        load(write(label), connection)


@pytest.mark.parametrize('kind', ['Opaque', 'kubernetes.io/tls'])
def test_only_image_pull_secrets_are_copied(
        makeClusterSite, cluster, core, kind):
    core.create_namespaced_secret('default', {
        'metadata': {'name': 'db'}, 'type': kind,
        'data': {'tls.crt': 'eA==', 'tls.key': 'eA=='}})
    site = makeClusterSite('kind: pod, image-pull-secrets: [{name: db}]')
    node = site.makeNode()
    with pytest.raises(PermanentError, match=(
            'The secret default/db is not an image pull')):
        site.create(node)
    assert [secret['metadata']['namespace']
            for secret in cluster.store.list('secrets')
            if secret['metadata']['name'] == 'db'] == ['default']
