"""What the REST API tells of the limits of a tenant."""

import pytest

pytestmark = pytest.mark.usefixtures('eager')


def ask(web, tenant='tenant'):
    status, answer = web.ask('zuul-nodes/limits', tenant=tenant)
    assert status == 200
    return answer


def test_tenant_sees_its_own_usage_and_limits_only(web, site):
    site.limitTenant('tenant', instances=4, ram=4096)
    site.limitTenant('other', instances=9)
    site.addNodes(2, tenant='tenant', instances=1, cores=2)
    site.addNodes(1, 'secret', tenant='tenant', instances=1, cores=2)
    site.addNodes(1, tenant='other', instances=1, cores=2)
    # No request has it.
    site.addNodes(1, state='ready', instances=1, cores=2)
    assert ask(web) == [
        {'resource': 'cores', 'used': 6, 'limit': None},
        {'resource': 'instances', 'used': 3, 'limit': 4},
        {'resource': 'ram', 'used': 0, 'limit': 4096}]
    assert ask(web, 'other') == [
        {'resource': 'cores', 'used': 2, 'limit': None},
        {'resource': 'instances', 'used': 1, 'limit': 9}]


def test_tenant_without_nodes_and_limits_has_an_empty_list(web, site):
    site.limitTenant('other', instances=9)
    assert ask(web) == []
