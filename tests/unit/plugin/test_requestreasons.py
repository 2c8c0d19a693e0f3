"""A job that gets no nodes says why."""

import json
import types

import pytest

from zuul_nodes import requestnotes
from zuul_nodes.plugin import requestprojects, requestreasons


@pytest.fixture
def fail():
    """:return: a function that lets a scheduler process a failed request;
        returns the error of the build."""
    errors = []
    setFailure = requestreasons.wrapSetFailure(
        lambda item, job, error: errors.append(error), None)

    def proceed(manager, request, nodeset_info, build_set):
        setFailure(None, None, 'Node(set) request 1 failed')
    wrapped = requestreasons.wrapOnNodesProvisioned(proceed, None)

    def run(request):
        wrapped(None, request, None, None)
        return errors.pop()
    return run


def makeRequest(**attributes):
    request = types.SimpleNamespace(uuid='a' * 32, **attributes)
    request._set = request.__dict__.update
    return request


def failed(request, reason):
    request._set(**requestnotes.withReason(request, reason))
    return request


def test_error_of_the_build_has_the_reason(fail):
    request = failed(makeRequest(), 'Label big: no provider has it')
    assert fail(request) == (
        'Node(set) request 1 failed: Label big: no provider has it')


def test_error_of_the_build_names_no_other_request(fail):
    own, other = 'a' * 32, 'b' * 32
    request = failed(makeRequest(), f'request {own} waits, 1 kept for request '
                                    f'{other}; node {other} has failed')
    assert fail(request).endswith(
        f'request {own} waits, 1 kept for request [id]; node {other} has '
        'failed')


@pytest.mark.parametrize('notes', [{}, {'zuul_nodes': None},
                                   {'zuul_nodes': {'project_name': 'repo'}}])
def test_request_without_a_reason_has_the_text_of_zuul(fail, notes):
    failed_request = failed(makeRequest(), 'no')
    fail(failed_request)
    assert fail(makeRequest(**notes)) == 'Node(set) request 1 failed'


def test_the_record_keeps_reason_and_project():
    request = failed(makeRequest(
        zuul_nodes={'project_name': 'repo'}), 'no capacity')
    serialize = requestprojects.wrapSerialize(
        lambda request, context: b'{"uuid": "1"}', None)
    assert json.loads(serialize(request, None)) == {
        'uuid': '1', 'zuul_nodes': {
            'project_name': 'repo', 'reason': 'no capacity'}}


def test_reason_is_one_short_line_without_secrets_and_addresses():
    reason = requestnotes.getReason(failed(
        makeRequest(), 'one: password=abc123\nat https://10.0.0.1/\x1b[31m '
        + 2000 * 'x'))
    assert len(reason) == requestnotes.LENGTH
    assert reason.startswith('one: password=[secret] at [address]')
