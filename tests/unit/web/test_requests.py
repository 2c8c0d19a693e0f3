"""What the REST API tells of a tenant's requests."""

import time

import pytest

from zuul_nodes import requestnotes

pytestmark = pytest.mark.usefixtures('eager')
PATH = 'zuul-nodes/requests'


def test_requests_are_in_their_order_with_reason_and_position(web, site):
    now = time.time()
    last, first, other = site.addRequests(
        {'request_time': now, 'job_name': 'unit'},
        {'request_time': now - 300},
        {'priority': -1, 'tenant_name': 'other'})
    site.explain('rack is full', first, last)
    status, answer = web.ask(PATH)
    assert (status, answer['total']) == (200, 2)
    told = answer['requests']
    assert [(each['uuid'], each['reason'], each['ahead'], each['position'])
            for each in told] == [(first.uuid, 'rack is full', 0, 2),
                                  (last.uuid, 'rack is full', 1, 3)]
    assert told[0] | {'age': 300} == {
        'uuid': first.uuid, 'pipeline': 'check', 'project': None,
        'job': 'build', 'labels': ['debian'], 'state': 'requested',
        'age': 300, 'reason': 'rack is full', 'ahead': 0, 'position': 2,
        'failures': {}, 'nodes': []}
    status, one = web.ask(f'zuul-nodes/request/{last.uuid}')
    # A second may be over.
    assert (status, one | {'age': 0}) == (200, told[1] | {'age': 0})
    assert [each['uuid'] for each in web.ask(PATH, tenant='other')[1][
        'requests']] == [other.uuid]


def test_a_list_has_requests_without_nodes_only(web, site):
    waiting, accepted, running = site.addRequests(*(
        {'state': state, 'request_time': number} for number, state
        in enumerate(('requested', 'accepted', 'fulfilled'))))
    assert [each['uuid'] for each in web.ask(PATH)[1]['requests']] == [
        waiting.uuid, accepted.uuid]
    status, told = web.ask(f'zuul-nodes/request/{running.uuid}')
    assert (status, told['state'], told['position']) == (
        200, 'fulfilled', None)


def test_reason_of_a_failed_request(web, site):
    data = [{'uuid': None, 'failed_providers': ['rack'],
             'reasons': {'rack': 'no route to 10.0.0.5'}}]
    request, = site.addRequests({
        'state': 'failed', 'provider_node_data': data,
        requestnotes.NOTES: {requestnotes.REASON: 'no provider has it'}})
    _, told = web.ask(f'zuul-nodes/request/{request.uuid}')
    assert told['reason'] == 'no provider has it'
    assert told['failures'] == {'rack': 'no route to [address]'}


@pytest.mark.parametrize('query, expected', [
    ('', [0, 1, 2]), ('?limit=2', [0, 1]), ('?limit=1&skip=2', [2]),
    ('?skip=3', []), ('?limit=0', []), ('?limit=999999999', [0, 1, 2])])
def test_a_part_of_the_list(web, site, query, expected):
    requests = site.addRequests(*(
        {'request_time': number} for number in range(3)))
    _, answer = web.ask(PATH + query)
    assert [each['uuid'] for each in answer['requests']] == [
        requests[number].uuid for number in expected]
    assert answer['total'] == 3


@pytest.mark.parametrize('query', [
    'limit=-1', 'limit=many', 'skip=', 'limit=9999999999', 'limit=%C2%B2',
    'limit=1&limit=2'])
def test_a_part_that_does_not_exist(web, query):
    status, answer = web.ask(f'{PATH}?{query}')
    assert status == 400
    assert 'is not a number of requests' in answer


def test_no_answer_has_more_than_the_most(web, site, monkeypatch):
    monkeypatch.setattr('zuul_nodes.web.api.MOST', 2)
    site.addRequests(*[{}] * 3)
    _, answer = web.ask(f'{PATH}?limit=3')
    assert (answer['total'], len(answer['requests'])) == (3, 2)


@pytest.mark.parametrize('uuid', ['0' * 32, '..', '<b>'])
def test_request_that_does_not_exist(web, uuid):
    assert web.ask(f'zuul-nodes/request/{uuid}')[0] == 404


def test_request_of_another_tenant_does_not_exist(web, site):
    request, = site.addRequests({})
    assert web.ask(f'zuul-nodes/request/{request.uuid}',
                   tenant='other')[0] == 404
