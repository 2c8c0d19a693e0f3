"""The parts of zuul.conf: connections to clouds."""

import re

from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import NOWHERE, Mapping, getOrigin

# Nodepool's attribute -> where it is in zuul.conf, for the report.
ELSEWHERE = {
    'zookeeper-servers': '"hosts" of [zookeeper]; Zuul has its own already',
    'zookeeper-tls': '"tls_cert", "tls_key" and "tls_ca" of [zookeeper]; '
                     'Zuul has its own already',
    'zookeeper-timeout': '"session_timeout" of [zookeeper]',
    'max-hold-age': '"max_hold_expiration" and "default_hold_expiration" of '
                    '[scheduler], for autoholds',
}
LOST = {
    'webapp': 'the REST API of zuul-web, for each tenant, takes its place; '
              'scripts have to change',
    'build-log-dir': 'builds are jobs, and have logs like all jobs',
    'build-log-retention': 'builds are jobs, and have logs like all jobs',
    'images-dir': 'images are built on nodes, and stored in object storage',
}
HANDLED = ('elements-dir', 'labels', 'diskimages', 'providers',
           'tenant-resource-limits')
# Nodepool's limit of a tenant -> the resource; others are those of AWS.
LIMITS = {'max-servers': 'instances', 'max-cores': 'cores', 'max-ram': 'ram',
          'max-volumes': 'volumes', 'max-volume-gb': 'volume-gb'}
# A connection of this name is there without zuul.conf.
RESERVED = 'null'


class Connections:
    """The connections of all sections.

    :ivar dict names: name of a section -> name of its connection.
    :ivar dict options: name of a connection -> Mapping of its options.
    """

    def __init__(self, report):
        self._report = report
        self.names = {}
        self.options = {}

    def add(self, provider, driver):
        """
        :param Provider provider: of Nodepool.
        :param Driver driver: the tables for it.
        """
        name, options = driver.connection(provider.attributes)
        full = Mapping({'driver': driver.driver})
        full.take(options)
        name = self._find(re.sub(r'[^\w.-]+', '-', name).strip('-')
                          or driver.driver, full)
        self.names[provider.name] = name
        known = self.options.setdefault(name, full)
        if known is not full:
            self._mergeRate(name, known, full, provider)
        if driver.driver == 'openstack':
            self._remarkRate(provider, full)

    def _find(self, name, options):
        """:return: the name of the connection to the same account."""
        base, number = name, 1
        while name == RESERVED or (
                name in self.options
                and _getAccount(self.options[name]) != _getAccount(options)):
            number += 1
            name = f'{base}-{number}'
        return name

    def _mergeRate(self, name, known, options, provider):
        one, other = known.get('rate'), options.get('rate')
        if one == other:
            return
        self._report.add(
            Kind.CHANGED, f'Providers of the connection "{name}" differ in '
            f'"rate": the lowest number of calls per second is taken',
            getOrigin(provider.attributes, 'rate'),
            f'provider {provider.name}')
        if one is None or (other is not None and other < one):
            known.put('rate', other, getOrigin(options, 'rate'))

    def _remarkRate(self, provider, options):
        origin = getOrigin(provider.attributes, 'rate')
        rate = options.get('rate')
        if 'rate' not in provider.attributes:
            return
        if rate is None:
            self._report.add(Kind.DECIDE, '"rate" is not a number above 0',
                             origin, f'provider {provider.name}')
            return
        self._report.add(
            Kind.CHANGED, f'"rate" is the seconds between calls in Nodepool, '
            f'and calls per second in Zuul: {rate} now', origin,
            f'provider {provider.name}')


def _getAccount(options):
    return {name: value for name, value in options.items() if name != 'rate'}


def write(options_of):
    """
    :param dict options_of: name of a connection -> Mapping.
    :return: (text for zuul.conf, the set of the comments in it).
    """
    lines, shown = [], set()
    for name, options in options_of.items():
        if lines:
            lines.append('')
        for key in options:
            for comment in getOrigin(options, key).comments:
                if comment not in shown:
                    shown.add(comment)
                    lines.append(comment.text)
        lines.append(f'[connection {name}]')
        for key, value in options.items():
            if value is not None:
                text = (str(value).lower() if isinstance(value, bool)
                        else ' '.join(str(value).split()))
                # zuul.conf is read with interpolation.
                lines.append(f'{key} = {text.replace("%", "%%")}')
    return '\n'.join(lines) + '\n' if lines else '', shown


def _formatLimits(values):
    """:return: limits of tenants as in zuul.conf."""
    entries = (entry for value, _ in values
               for entry in (value if isinstance(value, list) else ()))
    return ', '.join(
        f'{entry["tenant-name"]}={LIMITS.get(name, name)}:{amount}'
        for entry in entries
        if isinstance(entry, dict) and 'tenant-name' in entry
        for name, amount in entry.items()
        if name != 'tenant-name' and isinstance(amount, int | float)
    ) or 'TENANT=RESOURCE:NUMBER'


def remarkSettings(site, report):
    """Report what becomes of attributes at the top level."""
    for name, values in site.settings.items():
        for _, origin in values or [(None, NOWHERE)]:
            if name in ELSEWHERE:
                report.add(Kind.DONE, f'"{name}" is in zuul.conf: '
                           f'{ELSEWHERE[name]}', origin)
            elif name in LOST:
                report.add(Kind.LOST, f'"{name}": {LOST[name]}', origin)
            elif name == 'tenant-resource-limits':
                report.add(
                    Kind.DECIDE, '"tenant-resource-limits": the launchers '
                    'have such limits in [launcher] of zuul.conf, if tenants '
                    'keep their names: '
                    f'"tenant_limits = {_formatLimits(values)}"', origin)
            elif name not in HANDLED:
                report.add(Kind.LOST, f'"{name}": Nodepool 11 does not read '
                           f'it', origin)
