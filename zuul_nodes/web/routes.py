"""Adds the page and its REST endpoints to the routes of zuul-web.

The page has the path ``/zuul-nodes/t/TENANT/``.  Where a proxy shows a single
tenant at the root (Zuul calls that white-label), ``/zuul-nodes/`` is the page
of that tenant; elsewhere, it lists the tenants.  No page of Zuul's has such a
path.
"""

from zuul_nodes.web.api import TenantAPI
from zuul_nodes.web.files import Files
from zuul_nodes.web.imageviews import ImageViews
from zuul_nodes.web.providerviews import ProviderViews
from zuul_nodes.web.requestviews import RequestViews

API = '/api/tenant/{tenant_name}/zuul-nodes'
# Path below that -> method of the TenantAPI.
ENDPOINTS = {
    '/requests': 'requests',
    '/request/{uuid}': 'request',
    '/limits': 'limits',
    '/providers': 'providers',
    '/images': 'images'}


def addRoutes(zuulweb, route_map, pipelines):
    """
    :param ZuulWeb zuulweb: while it is made.
    :param RoutesDispatcher route_map: of Zuul's own API.
    :param ImagePipelines pipelines: the image layouts of all tenants.
    """
    api = TenantAPI(RequestViews(zuulweb), ProviderViews(zuulweb),
                    ImageViews(zuulweb, pipelines))
    for path, action in ENDPOINTS.items():
        route_map.connect('zuul-nodes-api', API + path, controller=api,
                          action=action)
    route_map.connect(
        'zuul-nodes-page', '/zuul-nodes{path:|/.*}', controller=Files(),
        action='default')
