"""Checks of addresses and URLs that tenants and jobs write.

They end up in Ansible's templates and in logs, or on command lines of SSH, so
their syntax is restricted.  The launcher may contact only some of them.
"""

from collections.abc import Set
import contextlib
import functools
import ipaddress
import re
import socket
import time
from typing import TypeAlias
import urllib.parse

import psutil

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
# RFC 3986 allows no other characters in a URL.  A brace, above all, would
# begin a template of Ansible's.
URL = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
# A single letter is a drive of Windows.
SCHEME = re.compile(r'[a-z][a-z0-9+.-]+')
LONGEST_URL = 8192
# RFC 1123, page 13, and the underscores that Windows allows.
HOST = re.compile(r'(?=.{1,253}\.?\Z)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?'
                  r'(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?')
# A user of Linux, or a user of Windows with its domain.
USER_WORDS = 'the name of a user, without spaces'
USER = re.compile(r'[A-Za-z0-9_.$][A-Za-z0-9_.$@\\-]{0,255}')


def checkUrl(url: str) -> urllib.parse.SplitResult:
    """Split a URL, and check that Zuul can use it.

    :param url: that a tenant or a job has written.
    :return: its parts, as of :func:`urllib.parse.urlsplit`.
    :raises ValueError: the URL is invalid.  The message is a predicate
        without the URL, which may contain secrets.
    """
    if len(url) > LONGEST_URL:
        raise ValueError(f'has more than {LONGEST_URL} characters')
    if not URL.fullmatch(url):
        raise ValueError('has characters that must be written with "%", '
                         'such as a space or a brace')
    # Raises for misplaced brackets and invalid ports.
    parts = urllib.parse.urlsplit(url)
    try:
        _ = parts.port
    except ValueError:
        raise ValueError('has an invalid port') from None
    if not (SCHEME.fullmatch(parts.scheme) and (parts.netloc or parts.path)):
        raise ValueError('has no scheme or no location; it must begin with a '
                         'scheme such as https://')
    if '@' in parts.netloc:
        raise ValueError('contains a user or a password, which would be '
                         'public; sign the URL, or leave them out')
    return parts


def isHost(text: str) -> bool:
    """:return: whether a text is a host name or an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return bool(HOST.fullmatch(text))
    # ipaddress accepts any text as the zone of an IPv6 address.
    return bool(re.fullmatch(r'[0-9A-Fa-f.:]+(%[A-Za-z0-9_.-]+)?', text))


def isUser(text: str) -> bool:
    """:return: whether a text can be the name of a user who logs in."""
    return bool(USER.fullmatch(text))


# IPv6 addresses outside it do not leave their own network.
GLOBAL_UNICAST = ipaddress.ip_network('2000::/3')
# The last four bytes are an IPv4 address: behind a NAT64 gateway (RFC 6052),
# or in the deprecated notation of RFC 4291, section 2.5.5.1.
EMBEDDING = tuple(map(ipaddress.ip_network, ('64:ff9b::/96', '::/96')))
# Metadata services that have no link-local address: those of Azure (which is
# public), Alibaba, AWS and Google.
OF_CLOUDS = frozenset(map(ipaddress.ip_address, (
    '168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254')))
UNSPECIFIED = ipaddress.ip_network('0.0.0.0/8')
BROADCAST = ipaddress.ip_address('255.255.255.255')
LOCAL_NAMES = frozenset((
    'localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback'))
NUMBERS = re.compile(r'[0-9a-fA-FxX.]+')
# In place of a host: all public addresses of the Internet.
PUBLIC = 'public'
PORTS = {'http': 80, 'https': 443}


class RefusedError(Exception):
    """The launcher may not contact a host.

    The message names the option that can allow it and contains no secret.
    """

    failure = 'permanent'


def readAddress(host: str) -> Address | None:
    """Read an IP address in any notation.

    :param host: as people or jobs write it.
    :return: its address, as of :mod:`ipaddress`, or None for a host name.
    """
    host = host.strip('[]').rstrip('.')
    try:
        return unwrap(ipaddress.ip_address(host))
    except ValueError:
        pass
    # The C library, which programs use to connect, reads "127.1", "0x7f.1"
    # and "2130706433" as addresses.
    if not NUMBERS.fullmatch(host):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def unwrap(address: Address) -> Address:
    """:return: the IPv4 address that an IPv6 address leads to, if it does;
        otherwise the same address without its zone."""
    if address.version == 4:
        return address
    if inner := address.ipv4_mapped or address.sixtofour:
        return inner
    number = int(address)
    # ::1 is the loopback address; :: leads to this machine, as 0.0.0.0 does.
    if number != 1 and any(address in each for each in EMBEDDING):
        return ipaddress.IPv4Address(number & 0xffffffff)
    return ipaddress.IPv6Address(number)


def getOwnAddresses() -> Set[Address]:
    """:return: the addresses of this machine, at most a second old."""
    return _readOwnAddresses(int(time.monotonic()))


@functools.lru_cache(1)
def _readOwnAddresses(_: int) -> Set[Address]:
    return {unwrap(ipaddress.ip_address(each.address))
            for interface in psutil.net_if_addrs().values()
            for each in interface
            if each.family in (socket.AF_INET, socket.AF_INET6)}


def isPublic(address: Address) -> bool:
    """:return: whether an address is on the Internet and is not one of this
        machine."""
    return bool(
        address.is_global and not address.is_multicast
        and (address.version == 4 or address in GLOBAL_UNICAST)
        and address not in OF_CLOUDS and address not in getOwnAddresses())


def isLocal(address: Address) -> bool:
    """:return: whether an address leads to this machine, to its network
        segment, or to many machines."""
    return (address.is_loopback or address.is_link_local
            or address.is_multicast or address in UNSPECIFIED
            or address == BROADCAST or address in OF_CLOUDS
            or address in getOwnAddresses())


def isLocalName(host: str) -> bool:
    """:return: whether a host name is known to lead to this machine, without
        looking it up."""
    name = normalizeName(host)
    return (name in LOCAL_NAMES or name.endswith('.localhost')
            or name == normalizeName(socket.gethostname()))


class AllowList:
    """Hosts that the operator allows in an option of ``zuul.conf``.

    :param text: host names, addresses and networks, separated by commas.
    :param option: the name of the option in messages.
    :raises ValueError: an entry is invalid.
    """

    KINDS = 'the name of a host, an address or a network'

    def __init__(self, text: str, option: str) -> None:
        self.option = option
        self.names: set[str] = set()
        self.networks: list[
            ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for entry in filter(None, re.split(r'[\s,]+', text)):
            if not self.addEntry(entry):
                raise ValueError(f'{option}: "{entry}" is not {self.KINDS}')

    def addEntry(self, entry: str) -> bool:
        """:return: whether the entry is valid."""
        try:
            self.networks.append(ipaddress.ip_network(
                readAddress(entry) or entry, strict=False))
        except ValueError:
            if not isHost(entry):
                return False
            self.names.add(normalizeName(entry))
        return True

    def hasAddress(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


class Hosts(AllowList):
    """Existing machines that may be used as nodes.

    :param text: None for all machines that are not local to the launcher.
    """

    def __init__(self, text: str | None, option: str) -> None:
        super().__init__(text or '', option)
        self.is_open = text is None

    def allowsName(self, host: str) -> bool:
        """:return: whether a host may be allowed, without looking its name up.
        """
        if normalizeName(host) in self.names:
            return True
        if address := readAddress(host):
            return self._allows(address)
        return not isLocalName(host) if self.is_open else bool(self.networks)

    def allows(self, host: str, address: str) -> bool:
        """Check a host after its name was looked up.

        :param host: as it is configured.
        :param address: to which the launcher is about to connect.
        """
        return (normalizeName(host) in self.names
                or self._allows(readAddress(address)))

    def _allows(self, address: Address | None) -> bool:
        if address is None:
            return False
        return (not isLocal(address) if self.is_open
                else self.hasAddress(address))


class ImageSources(AllowList):
    """Hosts from which the launcher and clouds may download images.

    :param text: as for :class:`AllowList`, and also prefixes of URLs, and
        ``public`` for all addresses of the Internet; None for the default.
    """

    KINDS = ('the name of a host, an address, a network, "public", or the '
             'beginning of an http:// or https:// URL without "?"')

    def __init__(self, text: str | None = None) -> None:
        self.prefixes: list[urllib.parse.SplitResult] = []
        self.has_public = False
        super().__init__(PUBLIC if text is None else text,
                         '"image_sources" in the section "launcher" of '
                         'zuul.conf')

    def addEntry(self, entry: str) -> bool:
        if entry == PUBLIC:
            self.has_public = True
        elif '://' in entry:
            parts = checkUrl(entry)
            if parts.scheme not in PORTS or not parts.hostname or (
                    parts.query or parts.fragment):
                return False
            self.prefixes.append(parts)
        else:
            return super().addEntry(entry)
        return True

    def check(self, url: str, by_others: bool = False) -> bool:
        """Check a URL as far as possible without looking its host name up.

        :param url: of the scheme http or https.
        :param by_others: whether a cloud or a proxy connects, which may
            resolve the name to other addresses.
        :return: whether the operator has listed the host or the URL, which may
            then have any address.  If not, call :meth:`resolve`.
        :raises RefusedError: the launcher may not contact it.
        """
        try:
            parts = checkUrl(url)
        except ValueError as error:
            raise RefusedError(f'The URL of the image {error}') from None
    # Clients differ in how they read a "%" in a host.
        if not (parts.hostname and isHost(parts.hostname)):
            raise RefusedError('The URL of the image has no valid host')
        if (normalizeName(parts.hostname) in self.names
                or any(_beginsWith(parts, each) for each in self.prefixes)):
            return True
        address = readAddress(parts.hostname)
        if address is None:
            may_pass = self.has_public or (self.networks and not by_others)
        else:
            may_pass = self._allows(address)
        if not may_pass:
            raise self._refuse(describeUrl(parts))
        return False

    def resolve(self, host: str, port: int) -> list[str]:
        """Look up the name of a host that the operator has not listed.

        :return: the addresses to connect to, at least one.
        :raises RefusedError: none of its addresses may be contacted.
        :raises OSError: the name has no address.
        """
        found = dict.fromkeys(str(info[4][0]) for info in socket.getaddrinfo(
            host.strip('[]'), port, type=socket.SOCK_STREAM))
        allowed = [each for each in found
                   if self._allows(readAddress(each))]
        if not allowed:
            raise self._refuse(host)
        return allowed

    def _allows(self, address: Address | None) -> bool:
        return address is not None and (
            self.hasAddress(address)
            or (self.has_public and isPublic(address)))

    def _refuse(self, what: str) -> RefusedError:
        # Not the address: jobs could ask for those of internal names.
        return RefusedError(
            f'The launcher may not download images from {what}: {self.option} '
            'does not list it' + (
                ', and it has no public address' if self.has_public else ''))


def normalizeName(host: str) -> str:
    """:return: a host name in the spelling that is used to compare names."""
    return host.lower().rstrip('.')


@functools.lru_cache(4096)
def normalizeHost(host: str) -> str:
    """:return: an address or host name in the spelling that is used to
        compare hosts."""
    address = readAddress(host)
    if address is None:
        return normalizeName(host)
    zone = host.partition('%')[2]
    # A link-local address in another zone is another machine.
    if not (zone and address.is_link_local):
        return str(address)
    with contextlib.suppress(ValueError, OSError, OverflowError):
        zone = socket.if_indextoname(int(zone))
    return f'{address}%{zone}'


@functools.lru_cache(4096)
def normalizeUrl(url: str) -> object:
    """:return: a value that is the same for URLs of the same file."""
    try:
        parts = urllib.parse.urlsplit(url)
        return (_getServer(parts), urllib.parse.unquote(parts.path),
                parts.query)
    except ValueError:
        return url


def describeUrl(parts: urllib.parse.SplitResult) -> str:
    """:return: a URL for messages, without parts that may be secret."""
    return urllib.parse.urlunsplit(parts._replace(query='', fragment=''))


def _beginsWith(parts: urllib.parse.SplitResult,
                prefix: urllib.parse.SplitResult) -> bool:
    """:return: whether a URL is below a prefix, on the same server."""
    if _getServer(parts) != _getServer(prefix):
        return False
    segments = re.split(r'[/\\]', urllib.parse.unquote(parts.path))
    if '.' in segments or '..' in segments:
        # It would leave the directory of the prefix.
        return False
    directory = prefix.path.rstrip('/')
    return (parts.path == prefix.path
            or parts.path.startswith(directory + '/'))


def _getServer(
        parts: urllib.parse.SplitResult) -> tuple[str, str, int | None]:
    return (parts.scheme, normalizeName(parts.hostname or ''),
            parts.port or PORTS.get(parts.scheme))
