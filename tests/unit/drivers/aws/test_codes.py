"""What the error codes of AWS mean."""

import pathlib
import re

import botocore.session
import pytest

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.aws import errors
from zuul_nodes.drivers.aws.codes import CODES, FAMILIES, Kind, getKind
from zuul_nodes.launcher.providers.failures import Failure, classify

PAGE = pathlib.Path(__file__).with_name('errorcodes.txt')
ERRORS = {
    Kind.QUOTA: QuotaError, Kind.CAPACITY: CapacityError,
    Kind.TEMPORARY: TemporaryError, Kind.PERMANENT: PermanentError,
    Kind.NOT_HERE: PermanentError, Kind.NOT_FOUND: PermanentError,
    Kind.NOT_YET: DriverError, Kind.EXISTS: PermanentError,
    Kind.LOGIN: LoginError, Kind.EXPIRED: errors.ExpiredError,
    Kind.ATTEMPT: DriverError}
# Services that say what they may answer.
SERVICES = ('ebs', 's3', 'service-quotas', 'sts')


def readPage():
    """:return: yields code and kind of all that Amazon lists."""
    kind = None
    for line in PAGE.read_text().splitlines():
        if header := re.fullmatch(r'\[(.*)\]', line):
            kind = Kind[header[1].replace(' ', '_').upper()]
        elif not line.startswith('#'):
            for code in line.split():
                yield code, kind


def test_each_code_of_the_page():
    page = list(readPage())
    assert len(page) == len(dict(page)) > 400
    assert {code: getKind(code) for code, _ in page} == dict(page)


@pytest.mark.parametrize('kind', Kind)
def test_errors_are_of_their_kind(kind):
    code = next(code for code in CODES if CODES[code] is kind)
    prefixes = ('', 'Client.', 'Server.')
    for prefix in prefixes[:1 if code.startswith('Client.') else None]:
        error = errors.makeError(prefix + code, '')
        assert type(error) is ERRORS[kind]
        assert errors.isGone(error) is (
            kind in (Kind.NOT_FOUND, Kind.NOT_YET))
        assert errors.exists(error) is (kind is Kind.EXISTS)


@pytest.mark.parametrize('service', SERVICES)
def test_codes_of_other_services(service):
    """All that may happen to a launcher has a kind."""
    model = botocore.session.get_session().get_service_model(service)
    known = {
        error.error_code: getKind(error.error_code)
        for operation in model.operation_names
        for error in model.operation_model(operation).error_shapes}
    # Of things that the driver does not do.
    strange = {code for code, kind in known.items() if kind is None}
    assert known and not strange & {
        'AccessDeniedException', 'ExpiredTokenException', 'NoSuchBucket',
        'NoSuchKey', 'NoSuchResourceException', 'ServiceException',
        'TooManyRequestsException', *(
            known if service == 'ebs' else ())} - {'ConflictException'}


def test_no_code_is_said_twice():
    """What a family says already is not in the table, unless the family
    would say something else."""
    assert not [code for code, kind in CODES.items() if kind is next(
        (kind for pattern, kind in FAMILIES if pattern.search(code)), None)]


@pytest.mark.parametrize(('code', 'status', 'failure'), [
    ('Client.InternalError', 0, Failure.ATTEMPT),
    ('Server.InternalError', 0, Failure.TEMPORARY),
    ('UnknownParameter', 400, Failure.PERMANENT),
    ('SomethingNew', 400, Failure.ATTEMPT),
    ('SomethingNew', 503, Failure.TEMPORARY),
    ('Unknown', 503, Failure.TEMPORARY),
    ('RequestLimitExceeded', 503, Failure.TEMPORARY),
    ('Throttling', 400, Failure.TEMPORARY),
    ('SomethingNewLimitExceeded', 400, Failure.ATTEMPT),
    ('InstanceTypeNotSupported', 400, Failure.PERMANENT),
    ('ExpiredToken', 400, Failure.TEMPORARY),
    ('AuthFailure', 401, Failure.ATTEMPT),
    ('UnauthorizedOperation', 403, Failure.ATTEMPT),
    ('AccessDeniedException', 400, Failure.ATTEMPT),
    ('InvalidClientTokenId', 403, Failure.ATTEMPT),
    ('400', 400, Failure.ATTEMPT), ('403', 403, Failure.ATTEMPT),
    ('404', 404, Failure.ATTEMPT),
    ('InvalidSubnetID.NotFound', 400, Failure.PERMANENT),
])
def test_failures(code, status, failure):
    assert classify(errors.makeError(code, '', status)) is failure


@pytest.mark.parametrize('code', [
    'AttachmentLimitExceeded', 'SecurityGroupsPerInstanceLimitExceeded',
    'TagLimitExceeded'])
def test_limits_of_one_instance(site, aws, code):
    """No other instance makes room for it."""
    aws.inject('RunInstances', code)
    with pytest.raises(PermanentError, match=code):
        site.create()
