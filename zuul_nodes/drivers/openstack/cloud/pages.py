"""Read lists that are divided into pages."""

from urllib.parse import parse_qs, urlsplit

from zuul_nodes.drivers import TemporaryError
from zuul_nodes.drivers.openstack.cloud.errors import check


def getPages(proxy, path, key, microversion=None, query=(), note=None):
    """
    :param proxy: of openstacksdk, for a service.
    :param str path: of the list.
    :param str key: of the list in the answer.
    :param dict query: query parameters.  They may come from a tenant, so they
        are never keyword arguments.
    :param note: called with the answer for each page, if given.
    :return: yields the items, dicts.  From the link to the next page, only the
        query is used, so the service cannot name another host.
    :raises HttpException: the service has refused the request.
    """
    # The lists of openstacksdk are slow: they create a large object for each
    # item.
    query = dict(query)
    while True:
        # Not logged: it may be long, and servers have userdata.
        answer = check(proxy.get(
            path, params=query, microversion=microversion, log=False))
        if note:
            note(answer)
        data = answer.json()
        yield from data[key]
        # Glance's links have another format than those of other services.
        link = data.get('next') or next((
            link['href'] for link in data.get(f'{key}_links', ())
            if link.get('rel') == 'next'), None)
        following = link and parse_qs(urlsplit(link).query)
        if not following or not data[key]:
            return
        if following.get('marker') == query.get('marker'):
            raise TemporaryError(f'The list {path} never ends')
        query = {**query, **following}
