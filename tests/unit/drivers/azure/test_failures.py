"""The table of Azure's codes."""

import pytest

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.azure import failures
from zuul_nodes.launcher.providers.failures import Failure, classify

CODES = [(row, code) for row in failures.TABLE for code in sorted(row.codes)]


@pytest.mark.parametrize(
    ('row', 'code'), CODES, ids=[code for _, code in CODES])
def test_code_is_found_by_its_row(row, code):
    assert failures.find(code, row.example) is row
    assert failures.find(code.upper(), row.example) is row
    assert type(failures.makeError(code, row.example)) is row.kind


def test_every_kind_is_in_the_table():
    assert {row.kind for row in failures.TABLE} == {
        CapacityError, DriverError, LoginError, PermanentError, QuotaError,
        TemporaryError, failures.NotFoundError, failures.NoSuchError,
        failures.ExistsError}


@pytest.mark.parametrize('row', failures.TABLE, ids=lambda row: str(
    min(row.codes)))
def test_row_has_a_source_and_an_example(row):
    assert row.source.startswith('https://')
    assert bool(row.part) == bool(row.example)


@pytest.mark.parametrize(('data', 'status', 'kind'), [
    ({'error': {'code': 'Unheard', 'message': 'Of it'}}, 400, DriverError),
    (None, 401, LoginError), (None, 403, DriverError),
    (None, 405, DriverError),
    ({'error': {'code': 'ResourceNotFound', 'message': 'subnet x'}}, 404,
     failures.NoSuchError),
    ({'error': {'code': 'Unheard', 'message': 'Of it'}}, 409,
     TemporaryError),
    ({'error': {'code': 'Unheard', 'message': 'Of it'}}, 502,
     TemporaryError),
    ({'error': {'code': 'Unheard', 'message': 'Of it'}}, 0, DriverError),
    (None, 503, TemporaryError), ([], 404, failures.NotFoundError),
    ({'error': 'invalid_request'}, 400, DriverError),
    ({'error': {'code': 'InvalidTemplateDeployment', 'message': 'See', (
        'details'): [{'code': 'SkuNotAvailable', 'message': 'size'}]}}, 400,
     CapacityError),
    ({'error': {'code': 'BadRequest', 'message': 'Bad', 'details': []}}, 400,
     DriverError)])
def test_answer(data, status, kind):
    error = failures.fromAnswer(data, status)
    assert type(error) is kind
    assert error.status == status
    assert failures.isGone(error) is (status == 404)


@pytest.mark.parametrize(('code', 'failure'), [
    ('AuthorizationFailed', Failure.ATTEMPT),
    ('InvalidAuthenticationToken', Failure.ATTEMPT),
    ('7000222', Failure.ATTEMPT), ('NotFound', Failure.ATTEMPT),
    ('ImageNotFound', Failure.PERMANENT),
    ('InvalidParameter', Failure.PERMANENT)])
def test_credentials_and_bare_codes_are_attempts(code, failure):
    assert classify(failures.makeError(code, 'No')) is failure


def test_signatures_are_in_no_message():
    error = failures.makeError(
        'Conflict', 'https://md-1.blob/abcd?sv=2018&sig=secret was there')
    assert 'secret' not in str(error)
