"""Translate errors of OpenStack's libraries into errors of the driver API."""

from keystoneauth1 import exceptions as keystone
from openstack import exceptions

from zuul_nodes.drivers import (
    DriverError,
    LoginError,
    PermanentError,
    TemporaryError,
)
from zuul_nodes.drivers.openstack.cloud.failures import getKindOfAnswer

# The service does not exist, or refuses to answer.
ABSENT = (keystone.EndpointNotFound, exceptions.EndpointNotFound,
          exceptions.ServiceDisabledException, exceptions.NotFoundException,
          exceptions.ForbiddenException)


def isAbsent(error):
    """:return: whether an error, or its cause, means that the cloud does not
        have a service or a resource at all."""
    return any(isinstance(each, ABSENT) for each in (error, error.__cause__))


def translate(error):
    """
    :param Exception error: raised by openstacksdk or its libraries.
    :return: a :class:`DriverError` of the same meaning, with ``status``
        of HTTP if there was an answer.
    """
    if isinstance(error, DriverError):
        return error
    if type(error) is exceptions.SDKException and isinstance(
            error.__context__, keystone.ClientException):
        # A login has failed; the outer error has less details.
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
    if isinstance(error, keystone.MissingRequiredOptions
                  | keystone.Unauthorized | exceptions.ConfigException):
        return LoginError
    if isinstance(error, keystone.EndpointNotFound):
        return PermanentError
    if not status and isinstance(
            error, keystone.ConnectFailure | keystone.SSLError
            # The versions of the service are unknown.
            | keystone.DiscoveryFailure
            | keystone.RetriableConnectionFailure
            | keystone.UnknownConnectionError | exceptions.ResourceTimeout):
        return TemporaryError
    return getKindOfAnswer(status, message) or DriverError


class Translation:
    """Translates errors of openstacksdk that leave its block."""

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
    :raises HttpException: the response is an error.
    """
    exceptions.raise_from_response(response)
    return response
