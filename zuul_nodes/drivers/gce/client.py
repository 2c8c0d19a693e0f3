"""Clients of Google's APIs; this module is imported only when needed."""

import threading
import urllib.parse

from google.api_core import exceptions
import google.auth
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import AuthorizedSession
from google.cloud import compute_v1, storage
from google.cloud.storage.exceptions import InvalidResponse
from google.oauth2 import service_account

from zuul_nodes.drivers import LoginError, TemporaryError
from zuul_nodes.drivers.gce.errors import translate

SCOPES = ('https://www.googleapis.com/auth/cloud-platform',)
PAGE_SIZE = 500
# Lists of all zones.
LISTS = {'Disks': compute_v1.DiskAggregatedList,
         'Instances': compute_v1.InstanceAggregatedList}


class Client:
    """The APIs of a project.

    :param connection: with the options of ``zuul.conf``.
    :raises Exception: the credentials are invalid.
    """

    def __init__(self, connection):
        self.connection = connection
        self.project = connection.project
        self.timeout = connection.api_timeout
        self._lock = threading.Lock()
        self._services = {}
        self._credentials = None

    def call(self, service, method, **request):
        """
        :param str service: such as ``Instances``.
        :param request: its fields, except for the project.
        :return: the answer.
        :raises DriverError: the API has refused the request.
        """
        with Translation():
            return getattr(self._getService(service), method)(
                {'project': self.project, **request},
                timeout=self.timeout, retry=None)

    def list(self, service, method='list', **request):
        """:return: yields the items of all pages."""
        with Translation():
            yield from self.call(
                service, method, max_results=PAGE_SIZE, **request)

    def listScopes(self, service, **query):
        """List the resources of all zones, some of which may be unreachable.

        The library's request for such a list has no field for partial
        success, without which one unreachable zone of the world makes the list
        fail.

        :param str service: ``Instances`` or ``Disks``.
        :param query: of the request, in the terms of the API.
        :return: for each page, yields ("zones/..." -> resources and
            ``warning``, a list of the unreachable scopes).
        """
        host = self._getService(service).transport.host
        url = (f'{host}/compute/v1/projects/{self.project}/aggregated/'
               f'{service.lower()}')
        token = ''
        while token is not None:
            page = self._getPage(service, url, {
                'maxResults': PAGE_SIZE, 'returnPartialSuccess': 'true',
                **query, **({'pageToken': token} if token else {})})
            yield page.items, [*page.unreachables]
            token = page.next_page_token or None

    def _getPage(self, service, url, params):
        with Translation():
            response = self._getSession().get(
                url, params=params, timeout=self.timeout)
            if response.status_code >= 400:
                raise exceptions.from_http_response(response)
        return LISTS[service].from_json(
            response.content, ignore_unknown_fields=True)

    def _getSession(self):
        with self._lock:
            if 'session' not in self._services:
                self._services['session'] = AuthorizedSession(
                    self._getCredentials(self.connection.api_endpoint))
            return self._services['session']

    def _getService(self, name):
        with self._lock:
            if name not in self._services:
                endpoint = self.connection.api_endpoint
                self._services[name] = getattr(compute_v1, f'{name}Client')(
                    credentials=self._getCredentials(endpoint),
                    client_options={'api_endpoint': endpoint})
            return self._services[name]

    @property
    def storage(self):
        """:return: the client of Cloud Storage."""
        with self._lock:
            if 'storage' not in self._services:
                endpoint = self.connection.storage_endpoint
                self._services['storage'] = storage.Client(
                    project=self.project,
                    credentials=self._getCredentials(endpoint),
                    client_options={'api_endpoint': endpoint})
            return self._services['storage']

    def _getCredentials(self, endpoint):
        if endpoint and urllib.parse.urlsplit(endpoint).scheme == 'http':
            return AnonymousCredentials()
        if self._credentials is None:
            self._credentials = self._loadCredentials()
        return self._credentials

    def _loadCredentials(self):
        name = self.connection.connection_name
        path = self.connection.credentials_file
        try:
            if path:
                return service_account.Credentials.from_service_account_file(
                    path, scopes=SCOPES)
            return google.auth.default(SCOPES)[0]
        except (OSError, ValueError, GoogleAuthError) as error:
            # Omit the content of the file.
            what = (f'the file "{path}" contains no key of a service account'
                    if path else f'there are no credentials: {error}')
            raise LoginError(f'[connection {name}]: {what}') from None

    def end(self):
        with self._lock:
            services = self._services
            self._services = {}
        for name, service in services.items():
            if name in ('session', 'storage'):
                service.close()
            else:
                service.transport.close()


class Translation:
    """Translates errors of Google's libraries that leave its block."""

    def __enter__(self):
        return self

    def __exit__(self, cls, error, traceback):
        if isinstance(error, InvalidResponse):
            # Uploads of the library raise this type instead.
            raise translate(exceptions.from_http_response(
                error.response)) from error
        if isinstance(error, exceptions.GoogleAPICallError):
            raise translate(error) from error
        if isinstance(error, GoogleAuthError):
            # An unreachable server does not mean that credentials are wrong.
            unreachable = any(isinstance(each, TransportError)
                              for each in (error, error.__cause__))
            kind = (TemporaryError if error.retryable or unreachable
                    else LoginError)
            raise kind(f'Unable to log in to Google: {error}') from error
