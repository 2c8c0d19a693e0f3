"""HTTP requests, limited to the sources that the operator allows.

Each URL is checked before a request, including those of redirects.  The name
of a host that the operator has not named is looked up once.  The addresses are
checked, and the connection is made to one of them, so a later change of the
name has no effect.  TLS and the server still get the name.

A proxy in the environment belongs to the operator and makes connections
itself.  In that case only the URL is checked.
"""

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.connection import create_connection


class Source:
    """A file on a web server.

    :param str url: of the file.
    :param ImageSources sources: the allowed sources.
    :param tuple timeout: seconds to connect, and seconds between two reads.
    """

    def __init__(self, url, sources, timeout=(30, 300)):
        self.url = url
        self.sources = sources
        self.timeout = timeout

    def send(self, method, headers):
        """Send a request and read the head of the response.

        :return: the response; its content has not been read.
        :raises RefusedError: the source, or a redirect, is not allowed.
        """
        with requests.Session() as session:
            for scheme in 'http://', 'https://':
                session.mount(scheme, CheckingAdapter(self.sources))
            return session.request(
                method, self.url, headers=headers, stream=True,
                timeout=self.timeout, allow_redirects=True)


class CheckingAdapter(BaseAdapter):
    """Checks each URL before its request is sent.

    :param ImageSources sources: the allowed sources.
    """

    def __init__(self, sources):
        super().__init__()
        self.sources = sources
        self.named = HTTPAdapter()
        self.unnamed = CheckedAddressAdapter(sources)

    def send(self, request, *args, proxies=None, **kwargs):
        is_named = self.sources.check(
            request.url,
            by_others=bool(requests.utils.select_proxy(request.url, proxies)))
        adapter = self.named if is_named else self.unnamed
        return adapter.send(request, *args, proxies=proxies, **kwargs)

    def close(self):
        self.named.close()
        self.unnamed.close()


class CheckedAddressAdapter(HTTPAdapter):
    """Connects only to addresses that are allowed."""

    def __init__(self, sources):
        self.sources = sources
        super().__init__()

    def init_poolmanager(self, *args, **kwargs):
        super().init_poolmanager(*args, **kwargs)
        # Proxies have separate managers.
        self.poolmanager.pool_classes_by_scheme = {
            'http': self._makePool(
                urllib3.HTTPConnectionPool, HTTPConnection),
            'https': self._makePool(
                urllib3.HTTPSConnectionPool, HTTPSConnection)}

    def _makePool(self, pool_class, connection_class):
        connection_class = type(
            connection_class.__name__, (CheckedConnection, connection_class),
            {'sources': self.sources})
        return type(pool_class.__name__, (pool_class,), {
            'ConnectionCls': connection_class})


class CheckedConnection:
    """Makes a connection check the addresses of its host."""

    def _new_conn(self):
        try:
            addresses = self.sources.resolve(self.host, self.port)
        except (OSError, UnicodeError) as error:
            raise urllib3.exceptions.NameResolutionError(
                self.host, self, error) from error
        for address in addresses:
            try:
                # An address needs no second look-up.
                return create_connection(
                    (address, self.port), self.timeout,
                    source_address=self.source_address,
                    socket_options=self.socket_options)
            except OSError as error:
                failure = error
        if isinstance(failure, TimeoutError):
            raise urllib3.exceptions.ConnectTimeoutError(
                self, f'Connection to {self.host} timed out') from failure
        raise urllib3.exceptions.NewConnectionError(
            self, f'Failed to establish a new connection: {failure}'
        ) from failure
