"""Asking Zuul's REST API."""

import requests


class Unavailable(Exception):
    """zuul-web does not answer, or not yet."""


class API:
    """:param str url: the address of zuul-web.
    :param str tenant: the tenant that is asked about.

    Each question raises Unavailable if there is no answer.
    """

    def __init__(self, url, tenant):
        self.url = url
        self.tenant = tenant
        self._session = requests.Session()
        # A proxy does not reach our loopback.
        self._session.trust_env = False

    def get(self, path, **parameters):
        """:param str path: what follows "/api/".
        :return: the decoded answer."""
        try:
            response = self._session.get(
                f'{self.url}/api/{path}', params=parameters, timeout=5)
            response.raise_for_status()
            return response.json()
        except requests.RequestException as error:
            raise Unavailable(str(error)) from error

    def components(self):
        """:return: kind -> list of components, each with its state."""
        return self.get('components')

    def tenants(self):
        """:return: the names of the tenants that are loaded."""
        return [tenant['name'] for tenant in self.get('tenants')]

    def configErrors(self):
        """:return: list of errors in the tenant's configuration."""
        return self.get(f'tenant/{self.tenant}/config-errors')

    def nodes(self):
        """:return: list of nodes, each with its state."""
        return self.get(f'tenant/{self.tenant}/nodes')

    def images(self):
        """:return: list of images, each with its artifacts, and these with
            their uploads."""
        return self.get(f'tenant/{self.tenant}/images')

    def builds(self, **parameters):
        """:param parameters: filters, such as job_name.
        :return: list of builds, the newest first."""
        return self.get(f'tenant/{self.tenant}/builds', **parameters)

    def status(self):
        """:return: what is in the pipelines at the moment."""
        return self.get(f'tenant/{self.tenant}/status')
