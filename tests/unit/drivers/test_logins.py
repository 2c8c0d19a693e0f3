"""A refused log-in is known as one, whatever library reports it."""

import json
import ssl
import types

from botocore import exceptions as botocore
from google.api_core import exceptions as google
from google.auth import exceptions as google_auth
from keystoneauth1 import exceptions as keystone
import kubernetes.client
import kubernetes.config
from openstack import exceptions as openstack
import pytest
import requests
import urllib3

from zuul_nodes.drivers.aws import errors as aws_errors
from zuul_nodes.drivers.azure import failures as azure
from zuul_nodes.drivers.gce.client import Translation as FromGoogle
from zuul_nodes.drivers.kubernetes import errors as kubernetes_errors
from zuul_nodes.drivers.openstack.cloud.errors import Translation
from zuul_nodes.launcher.providers import isLoginRefused


def leave(block, error):
    """:return: what leaves a block in which an error is raised."""
    with pytest.raises(Exception) as caught, block:
        raise error
    return caught.value


def fromAws(code, status=400):
    return aws_errors.translate(botocore.ClientError({
        'Error': {'Code': code, 'Message': 'no'},
        'ResponseMetadata': {'HTTPStatusCode': status}}, 'RunInstances'))


def fromCluster(status):
    return kubernetes_errors.translate(kubernetes.client.ApiException(
        http_resp=types.SimpleNamespace(
            status=status, reason='no', headers={}, getheaders=dict,
            data=json.dumps({'message': 'no'}))))


def makeSSLError(reason):
    error = ssl.SSLError(1, f'[SSL: {reason}]')
    error.reason = reason
    return error


def overRequests(cause):
    """:return: the error of requests, raised as it does."""
    try:
        try:
            raise urllib3.exceptions.MaxRetryError(
                None, '/', urllib3.exceptions.SSLError(cause)) from cause
        except urllib3.exceptions.MaxRetryError as error:
            raise requests.exceptions.SSLError(error)  # noqa: B904
    except requests.exceptions.SSLError as error:
        return error


@pytest.mark.parametrize('error', [
    leave(Translation(), keystone.Unauthorized('wrong password')),
    leave(Translation(), keystone.MissingRequiredOptions([
        types.SimpleNamespace(dest='auth_url')])),
    leave(Translation(), openstack.ConfigException('no cloud rack')),
    leave(Translation(), openstack.HttpException('no', http_status=401)),
    *map(fromAws, ('AuthFailure', 'InvalidClientTokenId', 'ExpiredToken',
                   'UnrecognizedClientException', 'SignatureDoesNotMatch')),
    botocore.NoCredentialsError(), botocore.ProfileNotFound(profile='ci'),
    botocore.PartialCredentialsError(provider='env', cred_var='secret'),
    botocore.CredentialRetrievalError(provider='role', error_msg='no'),
    azure.fromAnswer({'error': {
        'code': 'ExpiredAuthenticationToken', 'message': 'expired'}}, 401),
    azure.fromAnswer(None, 401), azure.makeError('7000215', 'secret', 401),
    leave(FromGoogle(), google_auth.RefreshError('invalid_grant')),
    leave(FromGoogle(), google_auth.DefaultCredentialsError('none')),
    leave(FromGoogle(), google.Unauthorized('no')),
    google_auth.DefaultCredentialsError('none'),
    fromCluster(401), kubernetes.config.ConfigException('no file'),
    makeSSLError('SSLV3_ALERT_CERTIFICATE_EXPIRED'),
    makeSSLError('TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    overRequests(makeSSLError('CERTIFICATE_VERIFY_FAILED')),
], ids=repr)
def test_refused(error):
    assert isLoginRefused(error)


@pytest.mark.parametrize('error', [
    leave(Translation(), openstack.HttpException('no', http_status=403)),
    leave(Translation(), openstack.HttpException('no', http_status=503)),
    leave(Translation(), keystone.ConnectFailure('down')),
    *map(fromAws, ('UnauthorizedOperation', 'RequestLimitExceeded',
                   'InvalidAMIID.NotFound')),
    botocore.EndpointConnectionError(endpoint_url='http://localhost'),
    azure.fromAnswer({'error': {
        'code': 'AuthorizationFailed', 'message': 'no right'}}, 403),
    leave(FromGoogle(), google.Forbidden('no right')),
    leave(FromGoogle(), google_auth.TransportError('down')),
    fromCluster(403), makeSSLError('WRONG_VERSION_NUMBER'), ssl.SSLError(),
    ConnectionRefusedError(), TimeoutError(), FileNotFoundError(),
], ids=repr)
def test_other_errors(error):
    """A right that is missing is missing at all launchers."""
    assert not isLoginRefused(error)
