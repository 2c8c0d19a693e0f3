"""Networks and addresses of servers."""

import copy
import ipaddress

from zuul_nodes.drivers import PermanentError

FIXED = 'fixed'
FLOATING = 'floating'
KIND = 'OS-EXT-IPS:type'
MAC = 'OS-EXT-IPS-MAC:mac_addr'


def parse(network):
    """
    :param network: an entry of a label's ``networks``.
    :return: its ``name`` or id, and whether it has ``port_security``.
    """
    if isinstance(network, str):
        return {'name': network, 'port_security': True}
    return network


def hasInsecure(label):
    """:return: whether the driver creates ports for a label's nodes."""
    return any(not parse(network)['port_security']
               for network in label.networks)


def hasFixed(addresses):
    """:return: whether a server has an IPv4 address for a floating IP, but no
        floating IP."""
    kinds = {each.get(KIND) for each in _getAll(addresses)
             if each['version'] == 4}
    return FIXED in kinds and FLOATING not in kinds


def addFloatingIps(addresses, floating):
    """
    :param dict addresses: of a server, as Nova returns them.
    :param list floating: its floating IPs, as Neutron returns them.
    :return: the addresses with the floating IPs, which Nova may return much
        later.
    """
    addresses = copy.deepcopy(addresses)
    shown = {each['addr'] for each in _getAll(addresses)}
    for each in floating:
        if each['floating_ip_address'] in shown:
            continue
        for known in addresses.values():
            fixed = next((one for one in known if one['addr'] == each[
                'fixed_ip_address']), None)
            if fixed:
                known.append({
                    'version': 4, 'addr': each['floating_ip_address'],
                    KIND: FLOATING, MAC: fixed.get(MAC)})
    return addresses


def keepOne(addresses, kind):
    """Reduce the addresses of a server to one of each kind.

    If there are several, openstacksdk tries to connect to port 22 of each and
    waits for five seconds.

    :param dict addresses: of a server, as Nova returns them.
    :param str kind: of the preferred IPv4 address.
    :return: the addresses with one IPv4 address in each network, one
        floating IP, and one IPv6 address, a global one if there is any.
    """
    everything = _getAll(addresses)
    floating = [each for each in everything if each.get(KIND) == FLOATING]
    ipv6 = sorted((each for each in everything if each['version'] == 6),
                  key=lambda each: not _isGlobal(each['addr']))
    kept = {}
    for network, known in addresses.items():
        ipv4 = sorted((each for each in known if each['version'] == 4
                       and each not in floating[1:]),
                      key=lambda each: each.get(KIND) != kind)
        kept[network] = [*ipv4[:1],
                         *(each for each in known if each in ipv6[:1])]
    return kept


def _isGlobal(address):
    try:
        return ipaddress.ip_address(address).is_global
    except ValueError:
        return False


def getBehind(addresses):
    """
    :param dict addresses: of a server, as Nova returns them.
    :return: those of the port of its first floating IP; all if there is
        none, or if Nova does not return MAC addresses.
    """
    mac = next((each.get(MAC) for each in _getAll(addresses)
                if each.get(KIND) == FLOATING), None)
    if mac is None:
        return addresses
    return {network: [each for each in known if each.get(MAC) == mac]
            for network, known in addresses.items()}


def _getAll(addresses):
    return [each for known in addresses.values() for each in known]


def choosePorts(server_id, ports, destination):
    """Select the ports to which a floating IP may lead.

    :param list ports: of the server, as Neutron returns them.
    :param destination: the preferred network for floating IPs according to
        ``clouds.yaml`` or openstacksdk, or None.
    :return: a list of ports, each with one of its addresses, the best one
        first.
    :raises PermanentError: there is none.
    """
    def rank(port):
        return (destination is None
                or port['network_id'] != destination['id'],
                # Ports without port security serve other purposes.
                not port.get('port_security_enabled', True),
                port.get('created_at') or '')
    found = [
        (port, fixed['ip_address'])
        for port in sorted(ports, key=rank) for fixed in port['fixed_ips']
        if ipaddress.ip_address(fixed['ip_address']).version == 4]
    if not found:
        raise PermanentError(
            f'Server {server_id} has no port with an IPv4 address for a '
            f'floating IP. Set "auto-floating-ip: false", or use another '
            f'network')
    return found
