"""The REST endpoints below a tenant, with Zuul's own rules of access."""

import cherrypy

# Makes the tools with which Zuul's own endpoints are decorated.
import zuul.web  # noqa: F401

# Requests in an answer: by default, and at the most.
DEFAULT, MOST = 100, 1000
JSON = 'application/json; charset=utf-8'

# As Zuul's own endpoints are decorated, from the inside out.
DECORATORS = (
    cherrypy.tools.check_tenant_auth(), cherrypy.tools.handle_options(),
    cherrypy.tools.json_out(content_type=JSON), cherrypy.tools.save_params(),
    cherrypy.expose)


def _endpoint(method):
    """Serve what a method returns as JSON, to those who may see the tenant."""
    for decorate in DECORATORS:
        method = decorate(method)
    return method


class TenantAPI:
    """
    :param RequestViews requests:
    :param ProviderViews providers:
    :param ImageViews images:
    """

    def __init__(self, requests, providers, images):
        self._requests = requests
        self._providers = providers
        self._images = images

    @_endpoint
    def requests(self, tenant_name, tenant, auth, limit=DEFAULT, skip=0):
        return self._requests.getList(
            tenant.name, _parse('limit', limit, MOST), _parse('skip', skip))

    @_endpoint
    def request(self, tenant_name, tenant, auth, uuid):
        request = self._requests.getOne(tenant.name, uuid)
        if request is None:
            raise cherrypy.HTTPError(404, 'Request not found')
        return request

    @_endpoint
    def limits(self, tenant_name, tenant, auth):
        return self._providers.getLimits(tenant.name)

    @_endpoint
    def providers(self, tenant_name, tenant, auth):
        return self._providers.getList(tenant.name)

    @_endpoint
    def images(self, tenant_name, tenant, auth):
        return self._images.getList(tenant)


def _parse(name, value, most=None):
    """:return: an int that is not negative, and not more than the most."""
    text = str(value)
    # No number of items has more digits.
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise cherrypy.HTTPError(400, f'{name} is not a number of requests')
    number = int(text)
    return number if most is None else min(number, most)
