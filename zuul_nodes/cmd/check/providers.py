"""Find providers in a running Zuul, or in files that are not merged yet."""

import contextlib
import pathlib

from zuul import model

from zuul_nodes.cmd.common.choice import choose, findError
from zuul_nodes.cmd.common.connections import Connections
from zuul_nodes.cmd.common.nozookeeper import NO_ZOOKEEPER
from zuul_nodes.cmd.common.tenants import Tenants
from zuul_nodes.cmd.common.waiting import Waiting
from zuul_nodes.configloader.objects import stanzas
from zuul_nodes.exceptions import UserError
from zuul_nodes.suggestions import suggest

# Where Zuul looks for the configuration of a project, in this order.
CONFIG_PATHS = ('zuul.yaml', 'zuul.d', '.zuul.yaml', '.zuul.d')


def findInZuul(config, args):
    """
    :return: a list of the providers that the schedulers have loaded, and a
        dictionary: provider -> error in its configuration.
    :raises UserError: there is no provider of that name.
    """
    waiting = Waiting(args.timeout)
    tenants = Tenants(config, Connections(config), waiting)

    def find():
        tenants.open()
        names = [args.tenant] if args.tenant else tenants.loaded
        loaded = [tenants.loadTenant(name) for name in names]
        return _makeAll([(choose(loaded, name).layout, name)
                         for name in args.provider], tenants.connections)
    try:
        return waiting.runWork(find)
    finally:
        # Release the lock, so that no scheduler waits for it meanwhile.
        with contextlib.suppress(Exception):
            tenants.close()


def findInFiles(config, args):
    """
    :return: as :func:`findInZuul`, for the named providers in the files; for
        all providers in them if none is named.
    :raises UserError: the files contain no provider, or none of that name, or
        a file is invalid.
    """
    layout = model.Layout(model.Tenant('files'))
    for path in args.files:
        for file in _findFiles(pathlib.Path(path)):
            _load(layout, file)
    names = args.provider or list(layout.provider_configs)
    if not names:
        raise UserError(f'there is no provider in {", ".join(args.files)}')
    return _makeAll([(layout, name) for name in names], Connections(config))


def _makeAll(found, connections):
    """
    :param found: an iterable of layouts and names of providers.
    :return: a list of providers, and a dictionary: provider -> error.
    """
    made, errors = [], {}
    for layout, name in found:
        try:
            made.append(_make(layout, name, connections))
        except ProviderError as error:
            errors[name] = str(error)
    return made, errors


class ProviderError(UserError):
    """The configuration of an existing provider is in error."""


def _make(layout, name, connections):
    known = layout.provider_configs
    error = findError(layout, name)
    if name not in known and not error:
        raise UserError(f'there is no provider "{name}". '
                        f'{suggest(name, known)}')
    try:
        if error:
            raise UserError(error)
        config = known[name].flattenConfig(layout, connections.connections)
        connection = connections.connections[config['connection']]
        return connection.driver.getProvider(
            NO_ZOOKEEPER, connection, layout.tenant.name,
            known[name].canonical_name, config, 'check')
    except Exception as error:
        raise ProviderError(f'the provider "{name}" is in error: '
                            f'{" ".join(str(error).split())}') from error


def _findFiles(path):
    if path.is_file():
        return [path]
    for name in CONFIG_PATHS:
        if (path / name).is_file():
            return [path / name]
        if (path / name).is_dir():
            return sorted((path / name).rglob('*.yaml'))
    raise UserError(f'{path} is neither a file nor a directory with '
                    f'{", ".join(CONFIG_PATHS)}')


def _load(layout, file):
    context = model.SourceContext(
        'files', 'files', 'files', '-', str(file))
    try:
        stanzas.addTo(layout, stanzas.parse(file.read_text(), context))
    except Exception as error:
        raise UserError(
            f'{file}: {" ".join(str(error).split())}') from error
