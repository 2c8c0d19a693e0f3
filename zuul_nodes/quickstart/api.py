"""Client of Zuul's REST API."""

import requests


class Unavailable(Exception):
    """zuul-web does not answer, or not yet."""


class API:
    """Queries the REST API of a tenant.

    :param str url: the address of zuul-web.
    :param str tenant: the tenant to query.

    Every method raises Unavailable if zuul-web does not answer.
    """

    def __init__(self, url, tenant):
        self.url = url
        self.tenant = tenant
        self._session = requests.Session()
        # The proxy of the environment cannot reach our loopback.
        self._session.trust_env = False

    def get(self, path, **parameters):
        """:param str path: the part after "/api/".
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
        """:return: the names of the loaded tenants."""
        return [tenant['name'] for tenant in self.get('tenants')]

    def configErrors(self):
        """:return: list of errors in the tenant's configuration."""
        return self.get(f'tenant/{self.tenant}/config-errors')

    def nodes(self):
        """:return: list of nodes, each with its state."""
        return self.get(f'tenant/{self.tenant}/nodes')

    def images(self):
        """:return: list of images with their artifacts and uploads."""
        return self.get(f'tenant/{self.tenant}/images')

    def builds(self, **parameters):
        """:param parameters: filters, such as job_name.
        :return: list of builds, the newest first."""
        return self.get(f'tenant/{self.tenant}/builds', **parameters)

    def status(self):
        """:return: the current content of the pipelines."""
        return self.get(f'tenant/{self.tenant}/status')
