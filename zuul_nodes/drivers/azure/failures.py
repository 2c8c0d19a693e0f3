"""The meaning of Azure's error codes, in one table.

To add a code, add it to a row, or add a row with the page that documents the
code: a test reads the whole table.
"""

import dataclasses
import re

from zuul_nodes import messages
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)


class NotFoundError(DriverError):
    """The resource does not exist, or Azure cannot find it now."""


class NoSuchError(NotFoundError, PermanentError):
    """The resource that Azure names does not exist."""


class ExistsError(DriverError):
    """Another resource of that name exists already."""


LEARN = 'https://learn.microsoft.com/azure/'
COMMON = LEARN + ('azure-resource-manager/troubleshooting/'
                  'common-deployment-errors')
QUOTA = LEARN + 'azure-resource-manager/troubleshooting/error-resource-quota'
SKU = LEARN + 'azure-resource-manager/troubleshooting/error-sku-not-available'
THROTTLING = LEARN + ('azure-resource-manager/management/'
                      'request-limits-and-throttling')
ASYNC = LEARN + 'azure-resource-manager/management/async-operations'
NOT_FOUND = LEARN + 'azure-resource-manager/troubleshooting/error-not-found'
TAGS = LEARN + 'azure-resource-manager/management/tag-resources'
NETWORK = LEARN + ('azure-resource-manager/management/'
                   'azure-subscription-service-limits')
MACHINES = ('https://learn.microsoft.com/troubleshoot/azure/'
            'virtual-machines/windows/error-messages')
ALLOCATION = ('https://learn.microsoft.com/troubleshoot/azure/'
              'virtual-machines/windows/allocation-failure')
LOGIN = ('https://learn.microsoft.com/entra/identity-platform/'
         'reference-error-codes')


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table.

    :ivar type kind: the class of the error.
    :ivar str source: URL that documents the codes.
    :ivar frozenset codes: of an error; case does not matter.
    :ivar str part: regular expression for a part of the message, if the
        codes alone are ambiguous.
    :ivar str example: such a message.
    """

    kind: type
    source: str
    codes: frozenset
    part: str = ''
    example: str = ''


def _row(kind, source, *codes, part='', example=''):
    return Row(kind, source, frozenset(codes), part, example)


# Of several rows with one code, the first that matches applies.
TABLE = (
    # The limit is 0, or less than one virtual machine needs, so waiting does
    # not help.
    _row(PermanentError, QUOTA, 'OperationNotAllowed', 'QuotaExceeded',
         part=r'current limit: 0\b',
         example='Operation could not be completed as it results in '
                 'exceeding approved standardNVFamily Cores quota. Location: '
                 'eastus, Current Limit: 0, Current Usage: 0, Additional '
                 'Required: 6'),
    _row(QuotaError, QUOTA, 'OperationNotAllowed', part='quota',
         example='Operation could not be completed as it results in '
                 'exceeding approved Total Regional Cores quota. Location: '
                 'eastus, Current Limit: 10, Current Usage: 10, Additional '
                 'Required: 2'),
    _row(QuotaError, QUOTA, 'QuotaExceeded', 'ResourceQuotaExceeded'),
    _row(QuotaError, NETWORK, 'PublicIPCountLimitReached', 'SubnetIsFull',
         'StaticPublicIPCountLimitReached',
         'IPv4StandardSkuPublicIpCountLimitReached'),
    _row(CapacityError, ALLOCATION, 'AllocationFailed',
         'ZonalAllocationFailed', 'OverconstrainedAllocationRequest',
         'OverconstrainedZonalAllocationRequest'),
    _row(CapacityError, SKU, 'SkuNotAvailable'),
    _row(TemporaryError, THROTTLING, 'TooManyRequests',
         'SubscriptionRequestsThrottled'),
    _row(TemporaryError, MACHINES, 'InternalServerError', 'InternalError',
         'InternalExecutionError', 'InternalOperationError',
         'InternalDiskManagementError', 'NetworkingInternalOperationError',
         'ManagementFailure', 'VMStartTimedOut'),
    _row(TemporaryError, COMMON, 'ServiceUnavailable', 'ServerTimeout',
         'GatewayTimeout', 'RequestTimeout', 'RetryableError',
         'RetryableErrorDueToAnotherOperation',
         'AnotherOperationInProgress', 'ReferencedResourceNotProvisioned',
         'DeploymentActive', 'Conflict'),
    # A resource that is being deleted still uses the resource.
    _row(TemporaryError, COMMON, 'NicInUse', 'NicReservedForAnotherVm',
         'PublicIPAddressCannotBeDeleted',
         'DiskBlobAlreadyInUseByAnotherDisk'),
    _row(TemporaryError, MACHINES, 'OperationNotAllowed',
         part='marked for deletion|is attached|active shared access',
         example="Operation 'put' is not allowed on 'np1' since it is marked "
                 'for deletion.'),
    # Another call of ours deletes the resource.
    _row(DriverError, ASYNC, 'OperationPreempted'),
    _row(DriverError, MACHINES, 'OSProvisioningTimedOut',
         'OSProvisioningClientError', 'OSProvisioningInternalError'),
    _row(NotFoundError, NOT_FOUND, 'NotFound'),
    _row(NoSuchError, NOT_FOUND, 'ResourceNotFound',
         'ResourceGroupNotFound', 'ParentResourceNotFound',
         'InvalidResourceReference', 'GalleryImageNotFound',
         'ImageNotFound', 'PlatformImageNotFound', 'SubscriptionNotFound'),
    _row(ExistsError, COMMON, 'PropertyChangeNotAllowed',
         'InvalidResourceLocation'),
    _row(PermanentError, MACHINES, 'InvalidParameter', 'InvalidVhd',
         'ConflictingUserInput', 'VMMarketplaceInvalidInput',
         'NetworkInterfaceCountExceeded',
         'SubscriptionNotAuthorizedForImage', 'ImageVersionDeprecated'),
    # Credentials and roles are no mistake of the label, and Azure needs a
    # while to know changes of them everywhere.
    _row(LoginError, COMMON, 'AuthenticationFailed',
         'ExpiredAuthenticationToken', 'InvalidAuthenticationToken',
         'InvalidAuthenticationTokenTenant'),
    _row(DriverError, COMMON, 'AuthorizationFailed',
         'LinkedAuthorizationFailed'),
    _row(PermanentError, COMMON, 'DisallowedOperation',
         'InvalidRequestContent',
         'InvalidRequestFormat', 'InvalidResourceName',
         'InvalidSubscriptionId',
         'LocationNotAvailableForResourceType', 'LocationRequired',
         'MissingSubscriptionRegistration', 'NoRegisteredProviderFound',
         'NotAvailableForSubscription', 'ReadOnlyDisabledSubscription',
         'RequestDisallowedByPolicy', 'ReservedResourceName', 'ScopeLocked',
         'SubscriptionNotRegistered', 'MarketplacePurchaseEligibilityFailed',
         'ResourcePurchaseValidationFailed'),
    _row(PermanentError, TAGS, 'InvalidTagNameCharacters'),
    # AADSTS...: the application, tenant or secret is unknown or has expired.
    _row(LoginError, LOGIN, '7000215', '7000222', '700016', '700027',
         '90002', '900023', '53003'),
    _row(TemporaryError, LOGIN, '90033', '50196', '90012'),
)
_BY_CODE = {}
for _each in TABLE:
    for _code in _each.codes:
        _BY_CODE.setdefault(_code.lower(), []).append(
            (re.compile(_each.part, re.I), _each))
# Meaning of an HTTP status if no row has the code; source: COMMON.
STATUSES = {
    401: LoginError, 404: NotFoundError, 408: TemporaryError,
    409: TemporaryError, 410: NotFoundError, 412: TemporaryError,
    429: TemporaryError}
# Codes of errors that contain the actual error.
OUTER = frozenset({'invalidtemplatedeployment', 'deploymentfailed',
                   'badrequest', 'resourcedeploymentfailure',
                   'multipleerrorsoccurred'})


def find(code, message=''):
    """:return: the :class:`Row` that applies, or None."""
    return next((row for pattern, row in _BY_CODE.get(code.lower(), ())
                 if pattern.search(message)), None)


def makeError(code, message, status=0):
    """
    :param str code: of an error, an operation or an instance view.
    :param str message: of Azure.
    :param int status: of HTTP, if there was an answer.
    :return: a :class:`DriverError` with ``code`` and ``status``.
    """
    row = find(code, message)
    if row:
        kind = row.kind
    else:
        kind = TemporaryError if status >= 500 else STATUSES.get(
            status, DriverError)
    text = messages.withoutSecrets(message or 'Azure reports no reason')
    error = kind(f'Azure: {text} ({code})')
    error.code, error.status = code, status
    return error


def fromAnswer(data, status=0):
    """
    :param data: the error of an answer or an operation, as JSON; anything
        else if Azure has not sent the answer.
    :return: as of :func:`makeError`.
    """
    error = data.get('error') if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return makeError('', f'answer with status {status}', status)
    # Errors of policies and deployments contain the actual error.
    while str(error.get('code', '')).lower() in OUTER:
        inner = [each for each in error.get('details') or ()
                 if isinstance(each, dict) and each.get('code')]
        if not inner:
            break
        error = inner[0]
    return makeError(str(error.get('code') or ''),
                     str(error.get('message') or ''), status)


def isGone(error):
    """:return: whether the resource does not exist."""
    return isinstance(error, NotFoundError)
