"""The REST endpoints below a tenant, with Zuul's own rules of access."""

import cherrypy

# Makes the tools with which Zuul's own endpoints are decorated.
import zuul.web  # noqa: F401

# Requests in an answer: by default, and at the most.
DEFAULT, MOST = 100, 1000
JSON = 'application/json; charset=utf-8'


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

    @cherrypy.expose
    @cherrypy.tools.save_params()
    @cherrypy.tools.json_out(content_type=JSON)
    @cherrypy.tools.handle_options()
    @cherrypy.tools.check_tenant_auth()
    def requests(self, tenant_name, tenant, auth, limit=DEFAULT, skip=0):
        return self._requests.getList(
            tenant.name, _parse('limit', limit, MOST), _parse('skip', skip))

    @cherrypy.expose
    @cherrypy.tools.save_params()
    @cherrypy.tools.json_out(content_type=JSON)
    @cherrypy.tools.handle_options()
    @cherrypy.tools.check_tenant_auth()
    def request(self, tenant_name, tenant, auth, uuid):
        request = self._requests.getOne(tenant.name, uuid)
        if request is None:
            raise cherrypy.HTTPError(404, 'Request not found')
        return request

    @cherrypy.expose
    @cherrypy.tools.save_params()
    @cherrypy.tools.json_out(content_type=JSON)
    @cherrypy.tools.handle_options()
    @cherrypy.tools.check_tenant_auth()
    def limits(self, tenant_name, tenant, auth):
        return self._providers.getLimits(tenant.name)

    @cherrypy.expose
    @cherrypy.tools.save_params()
    @cherrypy.tools.json_out(content_type=JSON)
    @cherrypy.tools.handle_options()
    @cherrypy.tools.check_tenant_auth()
    def providers(self, tenant_name, tenant, auth):
        return self._providers.getList(tenant.name)

    @cherrypy.expose
    @cherrypy.tools.save_params()
    @cherrypy.tools.json_out(content_type=JSON)
    @cherrypy.tools.handle_options()
    @cherrypy.tools.check_tenant_auth()
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
