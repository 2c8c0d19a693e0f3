"""Explain addresses of nodes in formats that Zuul does not accept."""

import ipaddress
import re

from zuul_nodes.drivers import BOUNDS, addresses

SCHEME = re.compile(r'[a-z][a-z0-9+.-]*://', re.IGNORECASE)
PASSWORD = re.compile(r':[^:/@]*@')
BRACKETS = re.compile(r'\[([^\[\]]*)\](.*)')


def explainHost(text):
    """
    :param str text: an address that is neither a host name nor an IP address.
    :return: a message for the tenant with the correct entry.
    """
    shown = PASSWORD.sub(':...@', text)
    return (f'A node in "nodes" has the address "{shown}", which is neither a '
            f'host name nor an IP address. {_suggest(text)}')


def _suggest(text):
    """:return: a sentence with the correct entry."""
    hosts = text.replace(',', ' ').split()
    if len(hosts) > 1 and all(map(addresses.isHost, hosts)):
        return 'Write one entry for each machine, with one address each'
    host, user, port = _split(text.strip())
    if not addresses.isHost(host):
        return ('Write a host name or an IP address alone, such as '
                '"node.example.com"')
    parts = [f'the address as "{host}"']
    if user is not None and addresses.isUser(user):
        parts.append(f'the user as "username: {user}"')
    bound = BOUNDS['connection-port']
    if port.isdecimal() and bound.least <= int(port) <= bound.most:
        parts.append(f'the port as "connection-port: {int(port)}"')
    return f'Write {" and ".join(parts)}'


def _split(text):
    """:return: the host, the user (None if there is none) and the port of an
        address that may be a URL, each a string."""
    text = re.split(r'[/?#]', SCHEME.sub('', text, count=1), maxsplit=1)[0]
    user, at, host = text.rpartition('@')
    if match := BRACKETS.fullmatch(host):
        host, port = match.groups()
    elif _isIPv6(host):
        port = ''
    else:
        host, colon, port = host.partition(':')
        port = colon + port
    # Omit a password.
    return host, user.partition(':')[0] if at else None, port.lstrip(':')


def _isIPv6(text):
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False
