"""Addresses of nodes that people write as they would for other programs."""

import ipaddress
import re

from zuul_nodes.drivers import BOUNDS, addresses

SCHEME = re.compile(r'[a-z][a-z0-9+.-]*://', re.IGNORECASE)
PASSWORD = re.compile(r':[^:/@]*@')
BRACKETS = re.compile(r'\[([^\[\]]*)\](.*)')


def explainHost(text):
    """
    :param str text: what is neither the name of a host nor an IP address.
    :return: that it is wrong, and what to write instead, for people.
    """
    shown = PASSWORD.sub(':...@', text)
    return (f'A node in "nodes" has the address "{shown}", which is no host '
            f'name or IP address. {_suggest(text)}')


def _suggest(text):
    """:return: a sentence that says what would be right."""
    hosts = text.replace(',', ' ').split()
    if len(hosts) > 1 and all(map(addresses.isHost, hosts)):
        return 'Write an entry for each machine, with one address each'
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
    """:return: the host, the user (None if there is none) and the port, each
        a string, of what may be a URL."""
    text = re.split(r'[/?#]', SCHEME.sub('', text, count=1), maxsplit=1)[0]
    user, at, host = text.rpartition('@')
    if match := BRACKETS.fullmatch(host):
        host, port = match.groups()
    elif _isIPv6(host):
        port = ''
    else:
        host, colon, port = host.partition(':')
        port = colon + port
    # Of a password, nothing is repeated.
    return host, user.partition(':')[0] if at else None, port.lstrip(':')


def _isIPv6(text):
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False
