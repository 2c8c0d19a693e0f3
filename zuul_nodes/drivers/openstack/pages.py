"""Lists that come page by page, as Nova, Neutron and Cinder give them."""

from urllib.parse import parse_qs, urlsplit

from zuul_nodes.drivers import TemporaryError
from zuul_nodes.drivers.openstack.errors import check


def getPages(proxy, path, key, microversion=None, **query):
    """
    :param proxy: of openstacksdk, for a service.
    :param str path: of the list.
    :param str key: of it in the answer.
    :param query: what is asked for.
    :return: yields what is in the list, dicts.
    :raises HttpException: the service has refused it.
    """
    # Not by openstacksdk's own lists: of each thing they make an object, of
    # many parts.
    while True:
        # Not logged: it may be long, and servers have userdata.
        data = check(proxy.get(
            path, params=query, microversion=microversion,
            log=False)).json()
        yield from data[key]
        following = next((
            parse_qs(urlsplit(link['href']).query)
            for link in data.get(f'{key}_links', ())
            if link.get('rel') == 'next'), None)
        if not following or not data[key]:
            return
        if following.get('marker') == query.get('marker'):
            raise TemporaryError(f'The list {path} never ends')
        query = {**query, **following}
