"""``zuul-nodes launcher``: runs the launcher as a separate process."""

from zuul_nodes import plugin, zuulconf
from zuul_nodes.exceptions import UserError

# Zuul's default of the option in [launcher].
PIDFILE = '/var/run/zuul/launcher.pid'
# The option in [launcher] that lists connections.
FILTER = 'connection_filter'


def addArguments(parser):
    zuulconf.addConfigArgument(parser)
    parser.add_argument('-d', dest='debug', action='store_true',
                        help='log debug messages')
    parser.add_argument('-f', dest='foreground', action='store_true',
                        help='stay in the foreground')
    parser.add_argument(
        '--connection', dest='connections', metavar='NAME', action='append',
        help='a connection whose nodes and images to manage, instead of '
             'those in connection_filter in zuul.conf; may be repeated')
    parser.add_argument(
        'command', nargs='?', choices=('stop', 'repl', 'norepl'),
        help='send this command to the running launcher instead of starting '
             'one')


def run(args):
    config = zuulconf.read(args.config)
    zuulconf.requireZooKeeper(config)
    args.nodaemon = bool(args.foreground or args.command)
    if not plugin.install():
        raise UserError('the plugin cannot be used here; '
                        '"zuul-nodes doctor" explains why')
    if not args.command:
        filterConnections(config, args.connections)
    # Imports Zuul, which plugin.install() has checked.
    from zuul_nodes.launcher.daemon import LauncherApp
    from zuul_nodes.launcher.settings import Settings
    if not args.command:
        # A daemon has no terminal to report an invalid setting on.
        Settings.read(config)
        zuulconf.requireDirectories(config, 'launcher', {
            'command_socket': Settings.command_socket, 'pidfile': PIDFILE})
    try:
        LauncherApp(args, config).main()
    except (FileNotFoundError, ConnectionRefusedError) as error:
        if args.command:
            path = config.get('launcher', 'command_socket',
                              fallback=Settings.command_socket)
            raise UserError(f'no launcher listens at {path}; check that it '
                            f'is running with this zuul.conf') from error
        raise
    return 0


def filterConnections(config, names):
    """Restrict the launcher to some connections, if configured.

    :param ConfigParser config: zuul.conf; the names are written to it, where
        the launcher reads them.
    :param list names: connections from the command line, or None.
    :raises UserError: there is no such connection, or zuul.conf is invalid.
    """
    from zuul_nodes.suggestions import quote, suggest
    source = '--connection'
    if names is None:
        source = f'zuul.conf: "{FILTER}" in [launcher]'
        names = filter(None, [config.get('launcher', FILTER, fallback=None)])
    # zuul.conf has a comma-separated list; the command line may too.
    names = [name.strip() for each in names for name in each.split(',')]
    if not names:
        return
    known = getConnections(config)
    for name in names:
        if name not in known:
            raise UserError(f'{source}: there is no connection {quote(name)} '
                            f'that has nodes. {suggest(name, known)}')
    # ConfigParser would interpolate a percent sign.
    config.read_dict({'launcher': {
        FILTER: ','.join(dict.fromkeys(names)).replace('%', '%%')}})


def getConnections(config):
    """:return: the names of the connections that a launcher can manage.

    :raises UserError: zuul.conf is invalid.
    """
    from zuul.driver import ProviderInterface
    from zuul.lib.connections import ConnectionRegistry
    connections = ConnectionRegistry()
    try:
        connections.configure(config, providers=True)
    except Exception as error:
        raise UserError(f'zuul.conf: {error}') from error
    # Zuul always adds connections of its legacy sections.
    return [name for name, connection in connections.connections.items()
            if isinstance(connection.driver, ProviderInterface)]
