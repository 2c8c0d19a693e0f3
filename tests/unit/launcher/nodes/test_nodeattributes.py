"""What labels say of nodes for jobs and for clouds, as it reaches them."""

import functools
import threading
import types

import jinja2
import pytest
import yaml
from zuul.executor.server import AnsibleJob, make_inventory_dict
from zuul.launcher.client import LauncherClient
from zuul.lib import tracing, yamlutil
from zuul.model import Node, NodeSet, NodesetRequest, ProviderNode, QueueItem

from tests.fixtures.racks import CreateMachine, cloud
from tests.fixtures.staticlayouts import oneStaticNode
from tests.fixtures.waiting import waitFor
from zuul_nodes import requestnotes
from zuul_nodes.plugin import requestprojects
from zuul_nodes.plugin.extensions import Extensions

State = ProviderNode.State


def says(text, what):
    """:return: configuration whose label ``big`` says something."""
    assert 'name: big,' in text
    return text.replace('name: big,', f'name: big, {what},', 1)


def writeInventory(launcher, request):
    """:return: what the inventory of a job says of its node, as Zuul's own
        code takes it from the records and writes it."""
    nodeset = NodeSet()
    nodeset.addNode(Node(['first', 'alias'], 'big'))
    client = LauncherClient(launcher.zk_client, threading.Event())
    client.acceptNodeset(client.getRequest(request.uuid), nodeset)
    job = types.SimpleNamespace(
        job=types.SimpleNamespace(
            host_variables={}, group_variables={}, extra_variables={}),
        executor_server=types.SimpleNamespace(default_username='zuul'),
        normal_vars={}, nodeset=nodeset)
    hosts = AnsibleJob.getHostList(job, {}, nodeset.getNodes())
    hostvars = {host['name']: host['host_vars'] for host in hosts}
    inventory = make_inventory_dict(
        hosts, nodeset, hostvars | {'localhost': {}}, [])
    client.returnNodeset(nodeset)
    # Ansible's loader, but for strings that it does not evaluate.
    written = yaml.safe_load(yamlutil.ansible_unsafe_dump(inventory))
    return written['all']['hosts']


@pytest.mark.parametrize('slots', ['', 'slots: 2, '])
def test_jobs_have_node_attributes_in_their_inventory(steps, racks, slots):
    steps.setLayout(says(
        cloud('one'), slots + 'node-attributes: {rack: r12, "disk": "#1"}'))
    request = steps.addRequest('big')
    steps.serve(request)
    hosts = writeInventory(steps, request)
    assert hosts.keys() == {'first', 'alias'}
    for host in hosts.values():
        for variable in ('nodepool', 'zuul_node'):
            assert host[variable]['node_properties'] == {
                'rack': 'r12', 'disk': '#1'}


def test_static_nodes_have_node_attributes(steps):
    steps.setLayout(says(oneStaticNode(), 'node-attributes: {rack: r12}'))
    steps.runUntil(lambda: steps.nodes(State.READY))
    node, = steps.nodes()
    assert node.node_properties == {'rack': 'r12'}


def test_what_a_driver_says_of_its_node_counts_more(
        steps, racks, monkeypatch):
    advance = CreateMachine.advance

    def say(machine):
        machine.node.node_properties['spot'] = True
        advance(machine)
    monkeypatch.setattr(CreateMachine, 'advance', say)
    steps.setLayout(says(
        cloud('one'), 'slots: 2, node-attributes: {spot: "?", a: b}'))
    slot, = steps.serve(steps.addRequest('big'))
    host, = steps.nodes(State.SLOT_HOST)
    # Slots are what their host is.
    for node in (host, slot):
        assert node.node_properties == {'spot': True, 'a': 'b'}


@pytest.mark.parametrize('value', [
    'plain', '#', '%}', '}}', '!vault |', '!unsafe a', '$ANSIBLE_VAULT;1.1',
    '# for x in y', '"', "'", '[1]', 'ü', '', '~', 'no', ': -'])
def test_ansible_has_values_as_they_are(steps, racks, value):
    quoted = value.replace("'", "''")
    steps.setLayout(says(cloud('one'), f"node-attributes: {{a: '{quoted}'}}"))
    request = steps.addRequest('big')
    steps.serve(request)
    found = writeInventory(steps, request)['first']['nodepool']
    assert found['node_properties'] == {'a': value}
    assert jinja2.Template(value).render() == value


# Tags


TAGS = ("dynamic-tags: {of: '{tenant_name}/{request.job_name}', "
        "event: '{request.event_id}', what: '{label} at {provider}', "
        "id: '{node_id}', fixed: yes!}")


def getTags(node):
    return {key: value for key, value in node.tags.items()
            if not key.startswith('zuul_')}


def test_new_node_has_dynamic_tags(steps, racks):
    steps.setLayout(says(cloud('one'), TAGS))
    node, = steps.serve(steps.addRequest(
        'big', job_name='{tenant_name}', zuul_event_id='e1'))
    assert getTags(node) == {
        'of': 'tenant/{tenant_name}', 'event': 'e1', 'what': 'big at one',
        'id': node.uuid, 'fixed': 'yes!'}
    assert node.tags['zuul_node_uuid'] == node.uuid


def test_ready_node_has_no_tags_of_a_request(steps, racks):
    """Not even when a request gets it."""
    steps.setLayout(says(cloud('one'), f'min-ready: 1, {TAGS}'))
    steps.runUntil(lambda: steps.nodes(State.READY))
    ready, = steps.nodes()
    expected = {'what': 'big at one', 'id': ready.uuid, 'fixed': 'yes!'}
    assert getTags(ready) == expected
    assert steps.serve(steps.addRequest('big')) == [ready]
    assert getTags(ready) == expected


def test_tags_say_the_project_of_a_job(steps, racks, monkeypatch):
    """Which requests have, as the plugin lets the scheduler write them."""
    for cls, name, wrap in (
            (LauncherClient, 'requestNodeset',
             requestprojects.wrapRequestNodeset),
            (NodesetRequest, 'serialize', requestprojects.wrapSerialize)):
        monkeypatch.setattr(cls, name, wrap(
            getattr(cls, name), Extensions({}, {}, {})))
    # Here, nobody has set up a tracer for it.
    monkeypatch.setattr(tracing, 'getSpanInfo', lambda span: None)
    steps.setLayout(says(
        cloud('one'), "dynamic-tags: {project: 'repo-{request.project}', "
        "canonical: '{project_canonical_name}'}"))
    request = requestNodeset(steps)
    node, = steps.serve(waitFor(
        lambda: steps.api.getNodesetRequest(request.uuid)))
    assert getTags(node) == {'project': 'repo-org/repo',
                             'canonical': 'example.com/org/repo'}
    # There is one more nodeset to try.
    assert requestnotes.get(request)[requestnotes.ALTERNATIVES] == 1
    # One request says nothing of the next.
    other, = steps.serve(steps.addRequest('big'))
    assert getTags(other) == {'project': 'repo-', 'canonical': ''}


def requestNodeset(launcher):
    """:return: a request, as the scheduler makes it for a job of a change to
        the project that is second in the queue item."""
    nodeset = NodeSet()
    nodeset.addNode(Node(['node'], 'big'))
    first, second = (
        types.SimpleNamespace(cache_key=name, project=types.SimpleNamespace(
            name=f'org/{name}', canonical_name=f'example.com/org/{name}'))
        for name in ('dependency', 'repo'))
    item = types.SimpleNamespace(
        changes=[first, second],
        current_build_set=types.SimpleNamespace(uuid='b', span_info=None),
        event=types.SimpleNamespace(zuul_event_id='e'),
        manager=types.SimpleNamespace(
            tenant=types.SimpleNamespace(
                name='tenant', layout=types.SimpleNamespace(
                    slot_labels=set())),
            pipeline=types.SimpleNamespace(name='check')))
    item.getChangeForJob = functools.partial(QueueItem.getChangeForJob, item)
    job = types.SimpleNamespace(
        nodeset=nodeset, uuid='j', name='build', ref='repo',
        nodeset_alternatives=[nodeset] * 3, nodeset_index=1)
    client = LauncherClient(launcher.zk_client, threading.Event())
    return client.requestNodeset(item, job, 200, 0, None, None)


def test_field_that_a_request_does_not_have_is_empty(steps, racks):
    steps.setLayout(says(cloud('one'), TAGS))
    node, = steps.serve(steps.addRequest('big', zuul_event_id=None))
    assert getTags(node)['event'] == ''


def test_tags_are_no_longer_than_a_record_can_be(steps, racks):
    tags = ', '.join(f"a{number}: '{'{job_name}' * 25}'"
                     for number in range(32))
    steps.setLayout(says(cloud('one'), f'dynamic-tags: {{{tags}}}'))
    node, = steps.serve(steps.addRequest('big', job_name='j' * 10_000))
    assert {len(value) for value in getTags(node).values()} == {512}


def test_dynamic_tags_count_more_than_tags(steps, racks):
    steps.setLayout(says(
        cloud('one'), "tags: {a: tag, b: tag}, dynamic-tags: {a: '{label}'}"))
    node, = steps.serve(steps.addRequest('big'))
    assert getTags(node) == {'a': 'big', 'b': 'tag'}


def test_slots_have_a_host_with_the_tags_of_the_first_request(steps, racks):
    steps.setLayout(says(
        cloud('one'), "slots: 2, dynamic-tags: {job: '{job_name}'}"))
    steps.serve(steps.addRequest('big', job_name='first'))
    steps.serve(steps.addRequest('big', job_name='second'))
    host, = steps.nodes(State.SLOT_HOST)
    assert getTags(host) == {'job': 'first'}
