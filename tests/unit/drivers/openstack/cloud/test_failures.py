"""The table of what services say."""

import json

from keystoneauth1 import exceptions as keystone
from openstack import exceptions
import pytest
import requests

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.openstack.cloud import failures
from zuul_nodes.drivers.openstack.cloud.errors import (
    Translation,
    check,
    translate,
)
from zuul_nodes.launcher.providers.failures import Failure, classify

KINDS = {CapacityError, QuotaError, TemporaryError, PermanentError}
EXAMPLES = [(row, example) for row in failures.SAYINGS
            for example in row.examples]


@pytest.mark.parametrize(
    ('row', 'example'), EXAMPLES, ids=[text for _, text in EXAMPLES])
def test_example_is_found_by_its_own_row(row, example):
    assert failures.find(example) is row


def test_every_kind_is_in_the_table():
    assert {row.kind for row in failures.SAYINGS} == KINDS
    assert set(failures.STATUSES.values()) == {
        failures.ExistsError, failures.NotFoundError, LoginError}


@pytest.mark.parametrize('row', failures.SAYINGS, ids=lambda row: row.part)
def test_row_has_a_source_and_examples(row):
    assert row.source.startswith('https://')
    assert row.examples


@pytest.mark.parametrize(('status', 'message', 'kind'), [
    (409, "Quota exceeded for resources: ['port'].", QuotaError),
    (413, 'This request was rate limited.', TemporaryError),
    (403, 'Too many requests', TemporaryError),
    (500, 'No valid host was found.', TemporaryError),
    (404, 'Instance 1 has gone', failures.NotFoundError),
    (404, 'Flavor 1 could not be found.', PermanentError),
    (409, 'Instance 1 is being built', failures.ExistsError),
    (0, 'Something else', None)])
def test_answer(status, message, kind):
    assert failures.getKindOfAnswer(status, message) is kind


@pytest.mark.parametrize('message', [
    'Something else', 'The request you have made requires authentication.',
    "Policy doesn't allow os_compute_api:servers:create to be performed.",
    'You are not allowed to perform the requested action.'])
@pytest.mark.parametrize('status', [
    400, 401, 403, 404, 405, 406, 410, 413, 415])
def test_status_alone_is_an_attempt(status, message):
    """It may come from a proxy, or from a service that starts."""
    response = requests.Response()
    response.status_code = status
    response.headers['Content-Type'] = 'application/json'
    response._content = json.dumps({'error': {'message': message}}).encode()
    with pytest.raises(DriverError, match=message) as info, Translation():
        check(response)
    assert classify(info.value) is Failure.ATTEMPT
    assert info.value.status == status


@pytest.mark.parametrize(('error', 'failure'), [
    (keystone.Unauthorized('It requires authentication.'), Failure.ATTEMPT),
    (keystone.NotFound('Not Found'), Failure.ATTEMPT),
    # The launcher lacks what another one may have.
    (keystone.MissingRequiredOptions([]), Failure.ATTEMPT),
    (exceptions.ConfigException('no clouds.yaml'), Failure.ATTEMPT),
    (keystone.EndpointNotFound('no compute service in region x'),
     Failure.PERMANENT)])
def test_login(error, failure):
    assert classify(translate(error)) is failure
