"""Errors of OpenStack's libraries, as errors of the driver API."""

from keystoneauth1 import exceptions as keystone
from openstack import exceptions

from zuul_nodes.drivers import DriverError, PermanentError, TemporaryError
from zuul_nodes.drivers.openstack.cloud.failures import getKindOfAnswer

# There is no such service, or it tells us nothing.
ABSENT = (keystone.EndpointNotFound, exceptions.EndpointNotFound,
          exceptions.ServiceDisabledException, exceptions.NotFoundException,
          exceptions.ForbiddenException)


def isAbsent(error):
    """:return: whether an error, or that which it was made of, says that
        the cloud does not have something at all."""
    return any(isinstance(each, ABSENT) for each in (error, error.__cause__))


def translate(error):
    """
    :param Exception error: raised by openstacksdk or below.
    :return: a :class:`DriverError` that says what it means, with ``status``
        of HTTP if there was an answer.
    """
    if isinstance(error, DriverError):
        return error
    if type(error) is exceptions.SDKException and isinstance(
            error.__context__, keystone.ClientException):
        # Logging in has failed; it says less.
        error = error.__context__
    status = getattr(error, 'status_code', None) or getattr(
        error, 'http_status', None) or 0
    message = getattr(error, 'details', None) or getattr(
        error, 'message', None) or str(error)
    if not isinstance(message, str):
        message = str(error)
    result = _getKind(error, status, message)(f'OpenStack: {message}')
    result.status = status
    return result


def _getKind(error, status, message):
    if isinstance(error, keystone.EndpointNotFound
                  | keystone.MissingRequiredOptions
                  | keystone.Unauthorized | exceptions.ConfigException):
        return PermanentError
    if not status and isinstance(
            error, keystone.ConnectFailure | keystone.SSLError
            # What is there at all could not be asked.
            | keystone.DiscoveryFailure
            | keystone.RetriableConnectionFailure
            | keystone.UnknownConnectionError | exceptions.ResourceTimeout):
        return TemporaryError
    return getKindOfAnswer(status, message) or DriverError


class Translation:
    """Errors of openstacksdk become ours on the way."""

    def __enter__(self):
        return self

    def __exit__(self, cls, error, traceback):
        if isinstance(error, exceptions.SDKException
                      | keystone.ClientException):
            raise translate(error) from error


def check(response):
    """
    :param response: of a call by a proxy of openstacksdk.
    :return: the same.
    :raises HttpException: it is an error.
    """
    exceptions.raise_from_response(response)
    return response
