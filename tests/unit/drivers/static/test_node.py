"""The entries of ``nodes``: spellings, and what is told of wrong ones."""

import pytest
import voluptuous as vs

from tests.fixtures.staticnodes import makeConfig, withoutInternal
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.drivers.static.node import normalizeNode

NODE = {'name': '192.0.2.1', 'label': 'desk'}


@pytest.mark.parametrize('entry, normal', [
    (NODE, NODE),
    ({'name': '192.0.2.1', 'label': ['desk']}, NODE),
    ({'name': '192.0.2.1', 'labels': 'desk'}, NODE),
    ({'host': '192.0.2.1', 'label': 'desk'}, NODE),
    ({'name': 'first', 'host': '192.0.2.1', 'label': 'desk'}, NODE),
    ({'name': ['desk'], 'host': '192.0.2.1'}, NODE),
    ({'name': 'desk', 'host': '192.0.2.1'}, NODE),
    # The specification's.
    ({'name': ['desk'], 'username': 'zuul'},
     {'name': 'desk', 'label': 'desk', 'username': 'zuul'}),
    ({'name': ['desk', 'chair']},
     {'name': 'desk', 'label': 'desk', 'aliases': ['chair']}),
    ({'name': '192.0.2.1', 'labels': ['desk', 'chair'], 'aliases': 'seat'},
     {**NODE, 'aliases': ['chair', 'seat']}),
    ({**NODE, 'aliases': 'chair'}, {**NODE, 'aliases': 'chair'}),
])
def test_spellings(entry, normal):
    before = dict(entry)
    assert normalizeNode(entry) == normal
    assert normalizeNode(normal) == normal
    assert entry == before


def test_labels_that_are_not_attached():
    entry = {'name': 'a', 'labels': ['desk', 'chair', 'lamp']}
    assert normalizeNode(entry, {'chair', 'lamp'}) == {
        'name': 'a', 'label': 'chair', 'aliases': ['lamp']}
    assert normalizeNode(entry, {'lamp'}) == {'name': 'a', 'label': 'lamp'}
    assert normalizeNode(entry, set()) is None
    # Zuul's aliases are not labels that a node is created with.
    assert normalizeNode({**NODE, 'aliases': 'lamp'}, {'lamp'}) is None


def test_labels_of_nodes():
    driver = StaticDriver()
    config = {'nodes': [
        {'name': ['desk', 'chair']},
        {**NODE, 'aliases': ['lamp']},
        {'name': 'b', 'labels': ['bed', 'desk'], 'aliases': 'cot'}]}
    assert driver.getNodeLabels(config) == [
        'desk', 'chair', 'lamp', 'bed', 'cot']
    assert driver.getNodeLabels(config, aliases=False) == [
        'desk', 'chair', 'bed']
    assert driver.getNodeLabels({}) == []


WRONG = [
    (7, 'An entry in "nodes" is a mapping with at least "name" and "label", '
        'not of the type int'),
    (None, 'of the type NoneType'),
    ('192.0.2.1', 'of the type str'),
    ({}, 'A node in "nodes" has no label'),
    ({'host': '192.0.2.1'},
     'The node "192.0.2.1" has no label. Write one label, or a list of '
     'labels, in "label"'),
    ({'label': 'desk'}, 'A node in "nodes" has no address. Write its host '
                        'name or IP address in "host" or "name"'),
    ({**NODE, 'labels': ['desk']},
     'The node "192.0.2.1" has both "label" and "labels". Write all of its '
     'labels in one of them'),
    ({'name': 'a', 'label': None}, '"label" must be a string or a list of'),
    ({'name': 'a', 'label': []}, '"label" must be a string or a list of'),
    ({'name': 'a', 'label': ['desk', 7]}, 'The node "a": "label" must be a'),
    ({'name': 'a', 'label': {'name': 'desk'}},
     '"label" must be a string or a'),
    ({'name': ['a', 'b'], 'label': 'desk'},
     'The node "a" has "label", so "name" must be its host name or IP '
     'address, one string'),
    ({'name': []}, '"name" must be a string or a list of strings'),
    ({'name': 7}, '"name" must be a string or a list of strings'),
    ({'name': 7, 'label': 'desk'}, '"name" must be its host name'),
    ({'name': ['desk'], 'host': 7}, 'The node "desk" has no address'),
    ({'name': ['desk'], 'host': {}}, 'The node "desk" has no address'),
]


@pytest.mark.parametrize('entry, message', WRONG)
def test_wrong_entries(entry, message):
    for function in (
            normalizeNode,
            lambda entry: StaticDriver().getNodeLabels({'nodes': [entry]})):
        with pytest.raises(vs.Invalid) as error:
            function(entry)
        assert message in str(error.value)


@pytest.mark.parametrize('nodes', [7, 'desk', {'name': 'desk'}, None])
def test_nodes_are_a_list(nodes):
    with pytest.raises(vs.Invalid, match='"nodes" must be a list of nodes'):
        StaticDriver().getNodeLabels({'nodes': nodes})


@pytest.mark.parametrize('attributes, message', [
    ({'connection-port': '22'},
     'The node "192.0.2.1": "connection-port" must be a whole number'),
    ({'connection-type': 'telnet'},
     '"connection-type" must be one of "ssh", "winrm", "psrp", "network_cli", '
     '"netconf", "httpapi", "local"'),
    # The executor would look for the pod that the node is.
    ({'connection-type': 'kubectl'},
     '"connection-type" must be one of "ssh", '),
    ({'max-parallel-jobs': 0},
     '"max-parallel-jobs" must be a whole number from 1 to 1000'),
    ({'max-parallel-jobs': 1001},
     '"max-parallel-jobs" must be a whole number'),
    ({'max-parallel-jobs': True},
     '"max-parallel-jobs" must be a whole number'),
    ({'max-parallel-jobs': '2'}, '"max-parallel-jobs" must be a whole number'),
    ({'username': 7}, '"username" must be the name of a user'),
    ({'username': None}, '"username" must be the name of a user'),
    ({'python-path': []}, '"python-path" must be a string'),
    ({'shell-type': 7}, '"shell-type" must be a string'),
    ({'boot-timeout': 'long'},
     '"boot-timeout" must be a whole number of seconds'),
    ({'host-key-checking': 'no'}, '"host-key-checking" must be true or false'),
    ({'aliases': 7},
     '"aliases" must be the name of a label or a list of them'),
    ({'host': None}, '"host" must be a host name'),
    ({'host-key': 7}, '"host-key" must be a string or a list. A host key is'),
    ({'host-key': ['x', 7]}, '"host-key" must be a string or a list'),
    ({'host-key': '...'},
     'The node "192.0.2.1": "host-key": the line contains no complete '
     'host key. A host key is a line such as "ssh-ed25519 AAAAC3Nz..."; '
     '"ssh-keyscan <host>" prints the keys of a host'),
    ({'host-key': ''}, '"host-key": the value contains no host key'),
    ({'host-key': []}, '"host-key": the value contains no host key'),
    ({'conection-port': 22},
     'The node "192.0.2.1" has the unknown attribute "conection-port". '
     'Did you mean "connection-port"?'),
    ({7: 22}, 'has the unknown attribute "7". There are: "aliases", '),
])
def test_wrong_attributes(attributes, message):
    config = withoutInternal(makeConfig(NODE | attributes))
    with pytest.raises(vs.Invalid) as error:
        StaticDriver().getProviderSchema()(config)
    assert message in str(error.value)
    assert "data['nodes'][0]" in str(error.value)


@pytest.mark.parametrize('host_key', ['...', '', []])
def test_bad_host_keys_in_zookeeper(host_key):
    config = makeConfig({**NODE, 'host-key': host_key})
    StaticDriver().getProviderSchema(internal=True)(config)
