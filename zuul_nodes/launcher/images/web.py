"""HTTP that goes only where the operator lets it.

Each URL is looked at before anything is sent, those of redirects as well.
What the operator has not named is looked up once, and connected to at an
address that has been looked at.  So it does not matter what the name leads to
a moment later.  TLS, and the server, are told the name as ever.

A proxy that the environment names is the operator's, and connects on its own:
then the URL alone is looked at.
"""

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.connection import create_connection


class Source:
    """A file on a web server.

    :param str url: of it.
    :param ImageSources sources: what may be contacted.
    :param tuple timeout: seconds for a connection, and for whatever the
        server sends next.
    """

    def __init__(self, url, sources, timeout=(30, 300)):
        self.url = url
        self.sources = sources
        self.timeout = timeout

    def send(self, method, headers):
        """
        :return: the response to a request, of which nothing but the head
            has been read.
        :raises RefusedError: it may not be contacted, or what it redirects
            to.
        """
        with requests.Session() as session:
            for scheme in 'http://', 'https://':
                session.mount(scheme, Door(self.sources))
            return session.request(
                method, self.url, headers=headers, stream=True,
                timeout=self.timeout, allow_redirects=True)


class Door(BaseAdapter):
    """
    :param ImageSources sources: what may be contacted.
    """

    def __init__(self, sources):
        super().__init__()
        self.sources = sources
        self.named = HTTPAdapter()
        self.looking = LookingAdapter(sources)

    def send(self, request, *args, proxies=None, **kwargs):
        is_named = self.sources.check(
            request.url,
            by_others=bool(requests.utils.select_proxy(request.url, proxies)))
        adapter = self.named if is_named else self.looking
        return adapter.send(request, *args, proxies=proxies, **kwargs)

    def close(self):
        self.named.close()
        self.looking.close()


class LookingAdapter(HTTPAdapter):
    """Connects to addresses that may be contacted."""

    def __init__(self, sources):
        self.sources = sources
        super().__init__()

    def init_poolmanager(self, *args, **kwargs):
        super().init_poolmanager(*args, **kwargs)
        # Proxies have managers of their own.
        self.poolmanager.pool_classes_by_scheme = {
            'http': self._makePool(
                urllib3.HTTPConnectionPool, HTTPConnection),
            'https': self._makePool(
                urllib3.HTTPSConnectionPool, HTTPSConnection)}

    def _makePool(self, pool_class, connection_class):
        connection_class = type(
            connection_class.__name__, (Looking, connection_class),
            {'sources': self.sources})
        return type(pool_class.__name__, (pool_class,), {
            'ConnectionCls': connection_class})


class Looking:
    """Part of a connection."""

    def _new_conn(self):
        try:
            addresses = self.sources.resolve(self.host, self.port)
        except (OSError, UnicodeError) as error:
            raise urllib3.exceptions.NameResolutionError(
                self.host, self, error) from error
        for address in addresses:
            try:
                # No name is looked up for an address.
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
