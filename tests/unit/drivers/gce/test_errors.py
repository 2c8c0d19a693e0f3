"""What Google's errors mean, each of them."""

import http

from google.api_core import exceptions
from google.cloud import compute_v1
import pytest
import requests

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.gce.errors import (
    ERRORS,
    KINDS,
    Kind,
    getFailure,
    getKind,
    isConflict,
    isGone,
    isMissing,
    normalize,
    translate,
)
from zuul_nodes.launcher.providers.failures import Failure, classify

# As Google writes them.
REASONS = {
    Kind.QUOTA: ['quotaExceeded'],
    Kind.CAPACITY: [
        'insufficientCapacity', 'resource_availability', 'stockout'],
    Kind.TEMPORARY: [
        'rateLimitExceeded', 'userRateLimitExceeded',
        'concurrentLimitExceeded', 'backendError', 'internalError',
        'resourceNotReady', 'resourceInUseByAnotherResource',
        'operationInProgress'],
    Kind.PERMANENT: [
        'conditionNotMet', 'accessNotConfigured', 'SERVICE_DISABLED',
        'BILLING_DISABLED', 'invalidParameter', 'fieldSizeTooLarge'],
    Kind.LOGIN: ['authError'],
    Kind.MISSING: ['notFound'],
    Kind.EXISTS: ['alreadyExists'],
    Kind.UNKNOWN: ['conflict', 'somethingNew'],
}
CODES = {
    Kind.QUOTA: [
        'QUOTA_EXCEEDED', 'QUOTA_LIMIT_EXCEEDED', 'IP_SPACE_EXHAUSTED',
        'IP_SPACE_EXHAUSTED_WITH_DETAILS'],
    Kind.CAPACITY: [
        'RESOURCE_POOL_EXHAUSTED', 'RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
        'ZONE_RESOURCE_POOL_EXHAUSTED',
        'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
        'REGION_RESOURCE_POOL_EXHAUSTED', 'STOCKOUT', 'GCE_STOCKOUT',
        'GPU_STOCKOUT', 'ZONE_STOCKOUT', 'INSUFFICIENT_CAPACITY'],
    Kind.TEMPORARY: [
        'RATE_LIMIT_EXCEEDED', 'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED',
        'RESOURCE_OPERATION_RATE_EXCEEDED', 'RESOURCE_NOT_READY',
        'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE', 'INTERNAL_ERROR',
        'UNAVAILABLE', 'SERVICE_UNAVAILABLE', 'DEADLINE_EXCEEDED'],
    Kind.PERMANENT: [
        'INVALID_FIELD_VALUE', 'INVALID_USAGE', 'CONDITION_NOT_MET'],
    Kind.LOGIN: ['UNAUTHENTICATED'],
    Kind.MISSING: ['RESOURCE_NOT_FOUND'],
    Kind.EXISTS: ['RESOURCE_ALREADY_EXISTS'],
    # Roles are no mistake of the label.
    Kind.UNKNOWN: ['INVALID_IMAGE_TAR', 'UNSUPPORTED_OPERATION',
                   'PERMISSIONS_ERROR', 'PERMISSION_DENIED'],
}
STATUSES = {
    Kind.TEMPORARY: [408, 429, 500, 502, 503, 504],
    Kind.MISSING: [404],
    # 410 is of an upload that has to be begun anew.
    Kind.UNKNOWN: [0, 400, 403, 405, 409, 410, 412, 413],
    Kind.LOGIN: [401],
}


def flatten(table):
    return [(kind, each) for kind, found in table.items() for each in found]


def makeError(status, errors, message='It can not be', details=()):
    """:return: what Google's library raises for an answer."""
    response = requests.Response()
    response.status_code = status
    response.request = requests.Request('GET', 'http://localhost').prepare()
    response.json = lambda: {'error': {
        'code': status, 'message': message, 'errors': errors,
        'details': details}}
    return exceptions.from_http_response(response)


def makeOperation(*codes, message='It can not be'):
    return compute_v1.Operation(
        http_error_status_code=400, error={'errors': [
            {'code': code, 'message': message} for code in codes]})


def test_all_of_the_table_is_here():
    seen = {normalize(each) for table in (REASONS, CODES)
            for kind, each in flatten(table) if kind is not Kind.UNKNOWN}
    seen |= {status for _, status in flatten(STATUSES)}
    assert {key for key in KINDS if key not in seen} == set()


@pytest.mark.parametrize('kind, reason', flatten(REASONS))
def test_call_is_refused(kind, reason):
    error = translate(makeError(409, [
        {'reason': reason, 'message': 'It can not be'}]))
    assert (error.kind, type(error)) == (kind, ERRORS[kind])
    assert str(error) == 'GCE: It can not be'


@pytest.mark.parametrize('kind, code', flatten(CODES))
def test_operation_has_failed(kind, code):
    error = getFailure(makeOperation(code))
    assert (error.kind, type(error)) == (kind, ERRORS[kind])
    assert str(error) == f'GCE: {code}: It can not be'


@pytest.mark.parametrize('kind, status', flatten(STATUSES))
def test_status_alone(kind, status):
    assert getKind(['invalid', 'forbidden'], 'No', status) is kind


@pytest.mark.parametrize('status, reason, message', [
    (400, 'invalid', "Invalid value for field 'resource.machineType': 'x'. "
     "Machine type with name 'x' does not exist in zone 'a'."),
    (400, 'invalid', "Invalid value for field 'resource.network': 'x'. The "
     'referenced network resource cannot be found.'),
    (400, 'invalid', '[pd-standard, c3] features are not compatible for '
     'creating instance.'),
    (404, 'notFound', "The resource 'projects/p/global/images/x' was not "
     'found')])
def test_message_names_the_mistake(status, reason, message):
    error = translate(makeError(status, [
        {'reason': reason, 'message': message}]))
    assert classify(error) is Failure.PERMANENT
    assert isMissing(error) is (status == 404)
    # The same status without it may be that of a proxy.
    error = translate(makeError(status, [
        {'reason': reason, 'message': 'Bad'}]))
    assert classify(error) is Failure.ATTEMPT
    assert isMissing(error) is (status == 404)


def test_operation_that_has_not_failed():
    assert getFailure(compute_v1.Operation()) is None


def test_first_code_that_is_known_counts():
    error = getFailure(makeOperation('NEW', 'STOCKOUT', 'QUOTA_EXCEEDED'))
    assert error.kind is Kind.CAPACITY


def test_details_of_an_error_tell_more():
    error = makeError(403, [], details=[{
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        'reason': 'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED',
        'domain': 'compute.googleapis.com'}])
    assert translate(error).kind is Kind.TEMPORARY


def test_message_has_a_code():
    error = makeError(400, [{'reason': 'badRequest', 'message':
                             'It was ZONE_RESOURCE_POOL_EXHAUSTED.'}])
    assert translate(error).kind is Kind.CAPACITY


@pytest.mark.parametrize('limit, kind', [
    ('0.0 in region us-west1', Kind.PERMANENT), ('0.0', Kind.PERMANENT),
    ('0 globally', Kind.PERMANENT), ('0.0.', Kind.PERMANENT),
    ('8.0 in region us-west1', Kind.QUOTA), ('0.5 in us', Kind.QUOTA),
    ('0.05', Kind.QUOTA), ('100.0', Kind.QUOTA)])
def test_quota_that_there_is_none_of(limit, kind):
    """As Google says it of machines that a region does not have."""
    message = f"Quota 'CPUS_PER_VM_FAMILY' exceeded.  Limit: {limit}"
    assert translate(makeError(403, [
        {'reason': 'quotaExceeded', 'message': message}])).kind is kind
    assert getFailure(makeOperation(
        'QUOTA_EXCEEDED', message=message)).kind is kind


def test_questions():
    def ask(status, reason):
        error = translate(makeError(status, [
            {'reason': reason, 'message': 'No'}]))
        return isMissing(error), isGone(error), isConflict(error)
    assert ask(404, 'notFound') == (True, True, False)
    assert ask(400, 'resourceNotReady') == (False, True, False)
    assert ask(409, 'alreadyExists') == (False, False, True)
    # What else it may be, it is not there for sure.
    assert ask(409, 'aborted') == (False, False, False)
    assert not any(question(DriverError('No')) for question in (
        isMissing, isGone, isConflict))
    assert http.HTTPStatus.CONFLICT not in KINDS
