"""Load what was converted, as a scheduler does, with the real drivers.

Attributes are checked one by one when they are converted (:mod:`faults`).
What drivers demand of several together shows here.
"""

import os
import pathlib
import tempfile

import yaml
from zuul import model

from zuul_nodes.cmd.common.nozookeeper import NO_ZOOKEEPER
from zuul_nodes.cmd.migrate import faults
from zuul_nodes.cmd.migrate.drivers import STATIC
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.configloader.objects import stanzas

# Of static nodes, which need no entry in zuul.conf.
DEFAULT_CONNECTION = 'null'


def check(texts, links, clouds, report):
    """Report what the configuration loader and the drivers do not accept.

    :param dict texts: path -> text, of the files with objects of these kinds.
    :param Connections links:
    :param Clouds clouds: with the origin of each provider.
    :param Report report:
    """
    layout = model.Layout(model.Tenant('tenant'))
    for path, text in texts.items():
        context = model.SourceContext('nodes', 'nodes', 'nodes', '-', path)
        try:
            stanzas.addTo(layout, stanzas.parse(text, context))
        except Exception as error:
            report.add(Kind.DECIDE, f'"{path}" does not load: '
                       f'{_getLine(error)}')
            return
    with tempfile.TemporaryDirectory() as directory:
        connections = dict(_makeConnections(links, directory, report))
        _loadAll(layout, connections, clouds, report)
    for driver in {each.driver for each in connections.values()}:
        driver.stop()


def _loadAll(layout, connections, clouds, report):
    origins = {pool.name: pool.origin for pool in clouds.pools}
    for name, provider in layout.provider_configs.items():
        if layout.sections[provider.section].connection not in connections:
            continue
        try:
            _load(provider, layout, connections)
        except Exception as error:
            report.add(Kind.DECIDE, f'The provider does not load: '
                       f'{_getLine(error)}', origins[name],
                       f'provider {name}')


def _makeConnections(links, directory, report):
    """:return: yields (name, connection)."""
    driver = faults.loadDriver(STATIC)()
    yield DEFAULT_CONNECTION, driver.getConnection(DEFAULT_CONNECTION, {})
    for name, options in links.options.items():
        driver = faults.loadDriver(options['driver'])()
        # Files with credentials are where Zuul runs.
        here = {key: value for key, value in options.items()
                if not key.endswith('_file')}
        if options.get('cloud'):
            here['client_config_file'] = _writeClouds(
                directory, options['cloud'])
        try:
            yield name, driver.getConnection(name, here)
        except Exception as error:
            report.add(Kind.DECIDE, f'The connection "{name}" is not '
                       f'complete: {_getLine(error)}')


def _writeClouds(directory, cloud):
    """:return: the path of a clouds.yaml that has the cloud, for the driver
        for OpenStack wants to see it."""
    path = pathlib.Path(directory, f'{len(os.listdir(directory))}.yaml')
    path.write_text(yaml.safe_dump({'clouds': {
        cloud: {'auth': {}, 'auth_type': 'none'}}}))
    return str(path)


def _load(provider, layout, connections):
    config = provider.flattenConfig(layout, connections)
    connection = connections[config['connection']]
    connection.driver.getProvider(
        NO_ZOOKEEPER, connection, layout.tenant.name,
        provider.canonical_name, config, 'migrate')


def _getLine(error):
    return ' '.join(str(error).split())
