"""A client of Azure Resource Manager with time-outs and typed errors.

Zuul's client logs requests and answers, which contain userdata, passwords and
signatures of disks.  It logs in without a time-out, and does not distinguish
errors.
"""

import contextlib
import re
import threading
import time

import requests
from zuul.driver.azure import azul

from zuul_nodes.drivers import DriverError, LoginError, TemporaryError
from zuul_nodes.drivers.azure import failures

MANAGEMENT = 'https://management.azure.com/'
# Links in answers must match, because the client sends the token there.
AZURE = re.compile(r'https://([a-z0-9-]+\.)?management\.azure\.com(:443)?/')
# Status of an operation that has not ended.
UNDER_WAY = ('inprogress', 'accepted', 'running', 'creating', 'updating',
             'deleting', 'pending')
# Seconds between two requests for the status of an operation: the default,
# and the maximum even if Azure asks for more.
LOOK = 2.0
LONGEST_LOOK = 30.0
HEADERS = {'Accept': 'application/json', 'Accept-Encoding': 'gzip'}
# Number of attempts to send a part of a disk.
ATTEMPTS = 3


class Auth(azul.AzureAuth):
    """Logs in to Azure.

    :ivar float timeout: seconds for each answer.
    """

    def __init__(self, connection):
        super().__init__(
            connection.subscription_id, connection.tenant_id,
            connection.client_id, connection.client_secret,
            connection.federated_token_file)
        self.timeout = connection.api_timeout
        self._lock = threading.Lock()

    def __call__(self, request):
        # Only one of several threads logs in.
        with self._lock:
            return super().__call__(request)

    def refresh_secret(self):
        return self._ask({'client_secret': self.client_secret})

    def refresh_federated(self):
        try:
            with open(self.federated_token_file, encoding='utf-8') as file:
                token = file.read()
        except OSError as error:
            raise LoginError(
                f'Azure: unable to read the token: {error}') from error
        return self._ask({
            'client_assertion_type': 'urn:ietf:params:oauth:'
                                     'client-assertion-type:jwt-bearer',
            'client_assertion': token})

    def _ask(self, proof):
        """:raises DriverError: Azure refuses the login."""
        response = requests.post(
            self.AUTH_URL.format(tenantId=self.tenant_id),
            {'grant_type': 'client_credentials', 'client_id': self.client_id,
             'resource': MANAGEMENT, **proof}, timeout=self.timeout)
        data = _parse(response)
        if not isinstance(data, dict) or 'access_token' not in data:
            data = data if isinstance(data, dict) else {}
            code, *_ = data.get('error_codes') or ['']
            raise failures.makeError(
                str(code), 'Unable to log in: ' + str(
                    data.get('error_description') or response.status_code),
                response.status_code)
        return response


class Client(azul.AzureCloud):
    """Calls Azure; all methods raise a :class:`DriverError`.

    :param AzureConnection connection: with the options of ``zuul.conf``.
    """

    def __init__(self, connection):
        super().__init__(
            connection.subscription_id, connection.tenant_id,
            connection.client_id, connection.client_secret,
            connection.federated_token_file)
        self.timeout = connection.api_timeout
        self.auth = Auth(connection)

    def request(self, method, url, data, codes):
        if not AZURE.match(url):
            raise DriverError(f'Azure: refused to {method} an address that is '
                              f'not below {MANAGEMENT}')
        path = url.partition('?')[0]
        self.log.debug('%s %s', method, path)
        try:
            response = self.session.request(
                method, url, json=data, auth=self.auth,
                timeout=self.timeout, headers=HEADERS,
                allow_redirects=False)
        except requests.RequestException as error:
            raise TemporaryError(
                f'Azure does not answer: {method} {path}: '
                f'{type(error).__name__}') from error
        found = _parse(response)
        if response.status_code not in codes:
            raise failures.fromAnswer(found, response.status_code)
        if isinstance(found, list):
            return azul.AzureListResponse(response, found)
        return azul.AzureDictResponse(response, found or {})

    def listBy(self, crud, query):
        """
        :param AzureCRUD crud: of a collection of the subscription.
        :param str query: ``$filter=...``, for the list.
        :return: a list of the items of all pages.
        """
        return self.paginate(self.get(
            f'{crud.url(resourceName="")}&{query}'))

    def await_(self, response, end, stopping):
        """Wait until an operation has ended.

        :param response: of the call that started it.
        :param float end: time-out, by the monotonic clock.
        :param Event stopping: ends the wait when it is set.
        :return: the result of the operation; None if the call itself has
            completed it.
        :raises DriverError: the operation has failed, or takes too long.
        """
        headers = response.response.headers
        url = headers.get('Azure-AsyncOperation') or headers.get('Location')
        if not url:
            return None
        pause = _getPause(headers)
        while not stopping.wait(pause):
            if time.monotonic() > end:
                raise DriverError('Azure has not completed the operation in '
                                  'time: ' + url.partition('?')[0])
            try:
                found = self.get(url, codes=[200, 202])
            except TemporaryError as error:
                self.log.info('%s', error)
                pause = LOOK
                continue
            pause = _getPause(found.response.headers)
            # An answer without a status is the result.
            status = str(found.get('status') or (
                'accepted' if found.response.status_code == 202
                else 'succeeded')).lower()
            if status == 'succeeded':
                return found
            if status not in UNDER_WAY:
                raise failures.fromAnswer(found)
        raise DriverError('The wait for the operation has ended because the '
                          'launcher stops')

    def endAccess(self, disk_id):
        """Revoke write access to a disk; do nothing if it does not exist."""
        url, _, query = self.disks.id_url(disk_id).partition('?')
        with contextlib.suppress(failures.NotFoundError):
            self.post(f'{url}/endGetAccess?{query}', {})

    def sendPart(self, url, start, data):
        """Write a part of a disk; called by several threads.

        :param str url: contains a signature, so it is never logged.
        :param int start: of the part, in bytes.
        """
        for left in reversed(range(ATTEMPTS)):
            try:
                response = requests.put(
                    f'{url}&comp=page', data=data, timeout=self.timeout,
                    allow_redirects=False, headers={
                        'x-ms-blob-type': 'PageBlob',
                        'x-ms-page-write': 'Update',
                        'Range': f'bytes={start}-{start + len(data) - 1}'})
                said, status = response.reason, response.status_code
            except requests.RequestException as error:
                said, status = type(error).__name__, 0
            if status == 201:
                return
            if not left or (400 <= status < 500 and status != 429):
                raise failures.makeError(
                    '', f'unable to write to the disk: {status} {said}',
                    status or 503)
            time.sleep(1)


def _parse(response):
    """:return: an answer as JSON, None if it is something else."""
    try:
        return response.json()
    except ValueError:
        return None


def _getPause(headers):
    try:
        pause = float(headers.get('Retry-After', LOOK))
    except ValueError:
        pause = LOOK
    return min(max(pause, 0), LONGEST_LOOK)
