"""Whether a list of instances tells of a node, where not all may be listed."""

import pytest

from tests.unit.drivers.kubernetes.sites import SHARED, allow

NAMESPACES = '/api/v1/namespaces'
PODS = '/api/v1/pods'


def look(site, node):
    """:return: whether a new list has the node, and whether it would."""
    found = {instance.metadata.get('zuul_node_uuid')
             for instance in site.endpoint.listInstances()}
    return node.uuid in found, site.endpoint.isListed(node)


def test_the_first_list_of_a_launcher_has_what_others_have_made(
        makeSite, cluster, shared):
    allow(cluster, [['*'], ['*'], ['*']])
    other = makeSite(SHARED, user='launcher')
    node = other.makeNode()
    assert other.create(node).complete
    site = makeSite(SHARED, user='launcher')
    assert look(site, node) == (True, True)
    cluster.inject('GET', f'{NAMESPACES}/ci/pods', 403)
    assert look(site, node) == (False, False)
    assert site.endpoint.findProblem(node) is None
    assert look(site, node) == (True, True)


@pytest.mark.parametrize('label, refused, expected', [
    (SHARED, [], True), (SHARED, [NAMESPACES], True), (SHARED, [PODS], True),
    ('kind: pod', [NAMESPACES], True), ('kind: pod', [PODS], True),
    ('kind: namespace', [], True), ('kind: namespace', [PODS], True),
    ('kind: namespace', [NAMESPACES], False),
    ('kind: namespace', [NAMESPACES, PODS], False)])
def test_a_node_is_listed_if_its_pod_or_its_namespace_may_be(
        makeSite, cluster, shared, label, refused, expected):
    site = makeSite(label)
    node = site.makeNode()
    assert site.create(node).complete
    for path in refused:
        cluster.inject('GET', path, 403)
    assert look(site, node) == (expected, expected)
