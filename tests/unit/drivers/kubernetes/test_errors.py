"""What answers of an API server mean."""

import json

from kubernetes.client import ApiException
import pytest

from zuul_nodes.drivers.kubernetes.errors import (
    Exists,
    Expired,
    Forbidden,
    Missing,
    NoSuch,
    Unready,
    translate,
)
from zuul_nodes.launcher.providers.failures import Failure, classify

FORBIDDEN = 'pods "np1" is forbidden: '


def makeError(status, message='', encode=False):
    body = json.dumps({'kind': 'Status', 'message': message})
    error = ApiException(status, 'Reason')
    error.body = body.encode() if encode else body
    return translate(error)


@pytest.mark.parametrize(('status', 'message', 'failure'), [
    (403, FORBIDDEN + 'exceeded quota: ci, requested: pods=1, used: pods=4, '
     'limited: pods=4', Failure.QUOTA),
    (403, FORBIDDEN + 'exceeded quota: ci, requested: limits.cpu=500m,'
     'requests.memory=5Gi, used: limits.cpu=1,requests.memory=0, limited: '
     'limits.cpu=1,requests.memory=4000Mi', Failure.PERMANENT),
    (403, FORBIDDEN + 'exceeded quota: what nobody knows', Failure.QUOTA),
    (403, FORBIDDEN + 'exceeded quota: ci, requested: pods, used: pods, '
     'limited: pods', Failure.QUOTA),
    (403, FORBIDDEN + 'failed quota: ci: must specify limits.memory',
     Failure.PERMANENT),
    (403, FORBIDDEN + 'status unknown for quota: ci, resources: pods',
     Failure.TEMPORARY),
    (403, 'User "zuul" cannot create resource "pods"', Failure.ATTEMPT),
    (403, FORBIDDEN + 'User "zuul" cannot create resource "pods"',
     Failure.ATTEMPT),
    (403, '', Failure.ATTEMPT), (404, '', Failure.ATTEMPT),
    (400, 'Bad Request', Failure.ATTEMPT),
    (403, FORBIDDEN + 'maximum cpu usage per Container is 1',
     Failure.PERMANENT),
    (403, FORBIDDEN + 'error looking up service account ci/default: '
     'serviceaccount "default" not found', Failure.TEMPORARY),
    (403, FORBIDDEN + 'unable to create new content in namespace ci because '
     'it is being terminated', Failure.ATTEMPT),
    (401, 'Unauthorized', Failure.ATTEMPT),
    (422, 'Pod "np1" is invalid', Failure.PERMANENT),
    (404, 'namespaces "ci" not found', Failure.PERMANENT),
    (409, 'pods "np1" already exists', Failure.ATTEMPT),
    (429, 'too many requests', Failure.TEMPORARY),
    (500, 'etcdserver: request timed out', Failure.TEMPORARY),
    (503, 'apiserver is shutting down', Failure.TEMPORARY)])
@pytest.mark.parametrize('encode', [False, True])
def test_meaning(status, message, failure, encode):
    error = makeError(status, message, encode)
    assert classify(error) is failure
    assert message in str(error)


@pytest.mark.parametrize(('status', 'message', 'kind'), [
    (403, '', Forbidden), (404, '', Missing),
    (404, 'pods "np1" not found', NoSuch), (409, '', Unready),
    (409, 'secrets "np1" already exists', Exists), (410, '', Expired),
    (403, 'error looking up service account', Unready),
    (500, 'No API token found for service account "default", retry after '
     'the token is automatically created and added to the service account',
     Unready)])
def test_kind(status, message, kind):
    assert type(makeError(status, message)) is kind


@pytest.mark.parametrize('body', [None, '', b'', 'gateway', b'gateway', '[]'])
def test_who_answers_is_something_else(body):
    error = ApiException(502, 'Bad Gateway')
    error.body = body
    assert classify(translate(error)) is Failure.TEMPORARY
    assert str(translate(error))
