"""Lists that come page by page."""

from urllib.parse import parse_qs, urlsplit

from zuul_nodes.drivers import TemporaryError
from zuul_nodes.drivers.openstack.cloud.errors import check


def getPages(proxy, path, key, microversion=None, query=(), note=None):
    """
    :param proxy: of openstacksdk, for a service.
    :param str path: of the list.
    :param str key: of it in the answer.
    :param dict query: what is asked for.  It may come from a tenant, so it
        is no keyword argument of anything.
    :param note: called with the answer for each page, if given.
    :return: yields what is in the list, dicts.  Of a link to the next page,
        no more is taken than what it asks for: it names no host to go to.
    :raises HttpException: the service has refused it.
    """
    # Not by openstacksdk's own lists: of each thing they make an object, of
    # many parts.
    query = dict(query)
    while True:
        # Not logged: it may be long, and servers have userdata.
        answer = check(proxy.get(
            path, params=query, microversion=microversion, log=False))
        if note:
            note(answer)
        data = answer.json()
        yield from data[key]
        # Glance has another form than all others.
        link = data.get('next') or next((
            link['href'] for link in data.get(f'{key}_links', ())
            if link.get('rel') == 'next'), None)
        following = link and parse_qs(urlsplit(link).query)
        if not following or not data[key]:
            return
        if following.get('marker') == query.get('marker'):
            raise TemporaryError(f'The list {path} never ends')
        query = {**query, **following}
