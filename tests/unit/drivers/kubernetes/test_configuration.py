"""What is said in git and in zuul.conf."""

import types

import pytest
from zuul.driver.kubernetes.kubernetesmodel import KubernetesProviderNode
from zuul.model import NodesetRequest
from zuul.provider import BaseProvider

from tests.unit.drivers.kubernetes.sites import (
    EXAMPLE,
    getConnection,
    load,
    write,
)
from zuul_nodes.configloader.errors import (
    AttributeValueError,
    UnknownAttributeError,
)
from zuul_nodes.drivers.framework.extension import checkOverrides
from zuul_nodes.drivers.kubernetes import KubernetesDriver
from zuul_nodes.drivers.kubernetes.endpoint import KubernetesEndpoint
from zuul_nodes.drivers.kubernetes.podspec import makePod, makeSpec
from zuul_nodes.drivers.kubernetes.provider import KubernetesProvider

SPEC = '{containers: [{name: shell, image: busybox}]}'


def getSpec(label='kind: pod', image='image-id: debian'):
    provider = load(write(label, image))
    return makeSpec(provider.labels['node'], provider.images['debian'])


def getContainer(label='kind: pod', image='image-id: debian'):
    container, = getSpec(label, image)['containers']
    return container


# zuul.conf

def test_connection():
    connection = getConnection()
    assert (connection.config_file, connection.context, connection.rate,
            connection.api_timeout, connection.use_openshift_projects) == (
                '/etc/zuul/kubeconfig', 'ci', 50, 60, False)


def test_there_is_no_rate_unless_it_is_set():
    connection = KubernetesDriver().getConnection('cluster', {})
    assert connection.rate is None


@pytest.mark.parametrize(('option', 'value'), [
    ('rate', 'fast'), ('rate', '-1'), ('api_timeout', '0'),
    ('use_openshift_projects', 'perhaps')])
def test_wrong_options(option, value):
    with pytest.raises(Exception, match=rf'connection cluster\]: "{option}"'):
        getConnection(**{option: value})


# As Zuul has it

def test_it_is_still_zuuls_driver():
    for cls in (KubernetesDriver, KubernetesProvider, KubernetesEndpoint):
        checkOverrides(cls)
    assert KubernetesDriver().getProviderNodeClass() is KubernetesProviderNode


def test_a_spec_is_used_as_it_is():
    provider = load(write(f'kind: pod, spec: {SPEC}', "description: ''"))
    label = provider.labels['node']
    assert makeSpec(label, provider.images['debian']) == {
        'containers': [{'name': 'shell', 'image': 'busybox'}]}
    assert not label.host_key_checking
    assert provider.images['debian'].connection_type == 'kubectl'


def test_records_become_our_providers():
    provider = load(EXAMPLE)
    raw = provider._compressData(provider.serialize(None))
    read = BaseProvider._fromRaw(None, raw, None, {
        'connections': types.SimpleNamespace(
            connections={'cluster': provider.connection}),
        'system_id': 'system', 'zk_client': None})
    assert type(read) is KubernetesProvider
    assert read.labels['debian-large'].node_selector == {'disk': 'ssd'}


# The pod

def test_example():
    provider = load(EXAMPLE)
    assert set(provider.labels) == {
        'debian-small', 'debian-large', 'debian-shared', 'namespace',
        'two-containers'}
    for label in provider.labels.values():
        if label.kind == 'pod':
            makePod('pod', label, provider.images[label.image], {})
    assert provider.labels['debian-small'].boot_timeout == 600
    assert provider.images['debian'].python_path == '/usr/bin/python3'
    assert provider.resource_limits == {
        'pods': 100, 'cores': 200, 'ram': 400000}


def test_pod_of_an_image():
    spec = getSpec(image='image-id: debian, image-pull-policy: Always')
    container, = spec['containers']
    assert (container['image'], container['imagePullPolicy']) == (
        'debian', 'Always')
    assert 'resources' not in container
    assert spec['restartPolicy'] == 'Never'


def test_the_specifications_spelling():
    assert getContainer(image='image-name: debian')['image'] == 'debian'


def test_image_of_the_label_alone():
    provider = load('''
- label: {name: node, kind: pod, image-id: busybox}
- section: {name: cluster, connection: cluster}
- provider: {name: cluster, section: cluster, labels: [name: node]}
''')
    label = provider.labels['node']
    assert makeSpec(label, provider.images[label.image])['containers'][0][
        'image'] == 'busybox'


def test_label_with_another_image_than_others():
    provider = load(write('kind: pod, image-id: busybox'))
    assert makeSpec(provider.labels['node'], provider.images['debian'])[
        'containers'][0]['image'] == 'busybox'


def test_resources():
    assert getContainer(
        'kind: pod, cpu: 2, cpu-limit: 3.5, memory: 512, storage: 1Gi, '
        'storage-limit: 2Gi, gpu: 1, extra-resources: {example.com/a: 2}')[
            'resources'] == {
        'requests': {'cpu': '2', 'memory': '512Mi',
                     'ephemeral-storage': '1Gi', 'nvidia.com/gpu': '1',
                     'example.com/a': '2'},
        'limits': {'cpu': '3.5', 'memory': '512Mi',
                   'ephemeral-storage': '2Gi', 'nvidia.com/gpu': '1',
                   'example.com/a': '2'}}


def test_large_numbers():
    assert getContainer('kind: pod, memory: 1234567')['resources'][
        'requests'] == {'memory': '1234567Mi'}


def test_limit_alone():
    assert getContainer('kind: pod, memory-limit: 4Gi')['resources'] == {
        'limits': {'memory': '4Gi'}}


def test_size_of_the_flavor_and_defaults():
    text = write('kind: pod').replace(
        'flavor: {name: small}', 'flavor: {name: small, cpu: 2}').replace(
            '    images:', '    label-defaults: {memory: 1024}\n    images:')
    provider = load(text)
    assert provider.getQuotaForLabel(
        provider.labels['node']).getResources() == {
            'pods': 1, 'namespaces': 1, 'cores': 2, 'ram': 1024}


def test_attributes_of_the_pod():
    spec = getSpec(
        'kind: pod, node-selector: {disk: ssd}, scheduler-name: tetris, '
        'priority-class: low, runtime-class: kata, service-account: default,'
        'tolerations: [{key: ci, operator: Exists}],'
        'volumes: [{name: cache, emptyDir: {}}]')
    assert spec.items() >= {
        'nodeSelector': {'disk': 'ssd'}, 'schedulerName': 'tetris',
        'priorityClassName': 'low', 'runtimeClassName': 'kata',
        'serviceAccountName': 'default',
        'tolerations': [{'key': 'ci', 'operator': 'Exists'}],
        'volumes': [{'name': 'cache', 'emptyDir': {}}]}.items()


def test_attributes_of_the_container():
    container = getContainer(
        'kind: pod, privileged: true, env: [{name: A, value: b}],'
        'volume-mounts: [{name: cache, mountPath: /cache}]')
    assert container['securityContext'] == {'privileged': True}
    assert container['env'] == [{'name': 'A', 'value': 'b'}]
    assert container['volumeMounts'] == [
        {'name': 'cache', 'mountPath': '/cache'}]


def test_pull_secrets_are_used():
    assert getSpec('kind: pod, image-pull-secrets: [{name: registry}]')[
        'imagePullSecrets'] == [{'name': 'registry'}]


def test_attributes_beside_a_spec():
    """They are added to it, and count for more."""
    spec = ('{nodeSelector: {a: b}, volumes: [{name: one}], containers: ['
            '{name: shell, image: busybox, resources: {limits: {cpu: 1, '
            'memory: 1Gi}}}, {name: other, image: other}]}')
    made = getSpec(f'kind: pod, spec: {spec}, cpu: 2, node-selector: {{c: d}},'
                   'volumes: [{name: two}]')
    shell, other = made['containers']
    assert other == {'name': 'other', 'image': 'other'}
    assert shell['image'] == 'debian'
    assert shell['resources'] == {
        'requests': {'cpu': '2'}, 'limits': {'cpu': '2', 'memory': '1Gi'}}
    assert made['nodeSelector'] == {'c': 'd'}
    assert [each['name'] for each in made['volumes']] == ['one', 'two']
    assert 'restartPolicy' not in made


def test_a_spec_is_not_changed_by_its_use():
    provider = load(write(f'kind: pod, spec: {SPEC}, env: [{{name: A}}]'))
    label, image = provider.labels['node'], provider.images['debian']
    assert makeSpec(label, image) == makeSpec(label, image)


# Labels of Kubernetes

def getTags(label, request=None):
    provider = load(write(label))
    return provider.getNodeTags(
        'system', provider.labels['node'], 'uuid', request)


def makeRequest():
    request = NodesetRequest()
    request._set(tenant_name='tenant', job_name='a job', labels=['node'])
    return request


def test_labels():
    tags = getTags('kind: pod, labels: {team: a, zuul_node_uuid: b},'
                   'tags: {cost: c}')
    assert tags == {
        'team': 'a', 'cost': 'c', 'zuul_system_id': 'system',
        'zuul_node_uuid': 'uuid', 'zuul_kubernetes_kind': 'pod'}


def test_dynamic_labels():
    label = ("kind: pod, dynamic-labels: {tenant: 't-{tenant_name}',"
             "job: '{request.job_name}'}")
    assert getTags(label, makeRequest()).items() >= {
        'tenant': 't-tenant', 'job': 'a job'}.items()
    assert 'tenant' not in getTags(label)


def test_dynamic_labels_show_nothing_else():
    label = "kind: pod, dynamic-labels: {a: '{request.__init__.__globals__}'}"
    assert getTags(label, makeRequest())['a'] == (
        '{request.__init__.__globals__}')


def test_what_does_not_fit_in_a_label_is_an_annotation_too():
    provider = load(write('kind: pod, annotations: {note: "a b"}'))
    metadata = makePod('pod', provider.labels['node'], None,
                       {'team': 'a', 'job': 'a job', 'empty': ''})['metadata']
    assert metadata == {
        'name': 'pod', 'labels': {
            'team': 'a', 'job': 'a-job-cec0dd2093', 'empty': ''},
        'annotations': {'job': 'a job', 'note': 'a b',
                        'kubectl.kubernetes.io/default-container': 'node'}}


# What it takes

@pytest.mark.parametrize(('label', 'needs'), [
    ('kind: namespace', {'namespaces': 1}),
    ('kind: namespace, cpu: 2', {'namespaces': 1}),
    ('kind: pod', {'namespaces': 1, 'pods': 1}),
    ('kind: pod, namespace: ci', {
        'pods': 1, 'ci/pods': 1, 'ci/count/pods': 1}),
    ('kind: pod, cpu: 500m, memory: 1024, storage: 1Gi, gpu: 2',
     {'namespaces': 1, 'pods': 1, 'cores': 0.5, 'ram': 1024, 'storage': 1024,
      'gpu': 2})])
def test_needs(label, needs):
    provider = load(write(label))
    assert provider.getQuotaForLabel(
        provider.labels['node']).getResources() == needs


# What is wrong

@pytest.mark.parametrize(('label', 'attribute', 'message'), [
    ('kind: namespace, namespace: ci', 'namespace', 'has no pod'),
    (f'kind: namespace, spec: {SPEC}', 'spec', 'has no pod'),
    ('kind: namespace, env: [{name: a}]', 'env', 'has no pod'),
    ('kind: pod, service-account: ci', 'service-account', '"namespace"'),
    ('kind: pod, image-pull-secrets: [{name: a}, {name: a, namespace: b}]',
     'image-pull-secrets', 'the same name'),
    ('kind: pod, spec: {}', 'spec', '"containers" must be a list'),
    ('kind: pod, spec: {containers: [{image: a}]}', 'spec', 'a "name"'),
    ('kind: pod, spec: {containers: [{name: a, resources: {limits: '
     '{cpu: many}}}]}', 'spec', '"many" is not an amount'),
    ('kind: pod, cpu: many', 'cpu', '"many" is not an amount'),
    ('kind: pod, memory: -1', 'memory', '0 or more'),
    ('kind: pod, cpu: true', 'cpu', 'expected a number'),
    ('kind: pod, labels: {a b: c}', 'labels', '"a b" cannot be a label'),
    ('kind: pod, tags: {/a: c}', 'tags', '"/a" cannot be a label'),
    ('kind: pod, labels: {a..b/c: d}', 'labels', 'cannot be a label'),
    ('kind: pod, annotations: {a b: c}', 'annotations',
     '"a b" cannot be an annotation'),
    ('kind: pod, annotations: {a: true}', 'annotations',
     'the value of "a" is not a string; put it in quotes'),
    ('kind: pod, namespace: The_CI', 'namespace',
     '"The_CI" cannot be a namespace: use up to 63 lower-case letters'),
    ("kind: pod, dynamic-labels: {a: '{tenant}'}", 'dynamic-labels',
     'a request has no field "tenant"')])
def test_wrong_labels(label, attribute, message):
    with pytest.raises(AttributeValueError, match=message) as info:
        load(write(label))
    text = str(info.value)
    assert text.startswith('The label "node" of the provider "cluster"')
    assert f'has an invalid value for "{attribute}"' in text


WIKIMEDIA = '''
- flavor: {name: basic}
- image: {name: nothing, type: cloud}
- image: {name: &trixie "registry.example.com/trixie:20260503", type: cloud}
- label: {name: namespace, flavor: basic, image: nothing}
- label: {name: trixie, flavor: basic, image: *trixie}
- section:
    name: cloud
    connection: cluster
    flavors: [basic]
    images: [nothing, *trixie]
- provider:
    name: untrusted
    section: cloud
    labels:
      - kind: namespace
        name: namespace
        spec: &spec
          containers: [{name: zuul, image: *trixie, args: [sleep]}]
      - {kind: pod, name: trixie, spec: *spec}
'''


def test_a_namespace_with_a_spec_is_told_what_to_write():
    """As there is one at Wikimedia, in shape."""
    with pytest.raises(AttributeValueError, match=(
            r'label "namespace" of the provider "untrusted" .* has an '
            'invalid value for "spec": a label of the kind "namespace" has no '
            'pod; remove the attribute, or use the kind "pod"')):
        load(WIKIMEDIA)
    # All the rest is as it should be.
    assert set(load(WIKIMEDIA.replace(
        'kind: namespace', 'kind: pod')).labels) == {'namespace', 'trixie'}


def test_wrong_kind():
    with pytest.raises(AttributeValueError, match='label "node"'):
        load(write('kind: machine'))


def test_wrong_pull_policy():
    with pytest.raises(AttributeValueError, match='image-pull-policy'):
        load(write(image='image-id: debian, image-pull-policy: sometimes'))


def test_unknown_attribute():
    with pytest.raises(UnknownAttributeError, match='node-selector'):
        load(write('kind: pod, node-selectors: {a: b}'))


def test_nothing_to_make_a_pod_of():
    with pytest.raises(Exception, match=(
            '"node" of the kind "pod" has no "spec", and its image "debian" '
            'has no "image-id"')):
        load(write('kind: pod', "description: ''"))
