"""``zuul-nodes launcher``: the launcher as a process of its own."""

from zuul_nodes import plugin, zuulconf
from zuul_nodes.exceptions import UserError

# Options in [launcher] that name a file to be made, and Zuul's defaults.
PLACES = {
    'command_socket': '/var/lib/zuul/launcher.socket',
    'pidfile': '/var/run/zuul/launcher.pid',
}
# The option in [launcher] with the names of connections.
FILTER = 'connection_filter'


def addArguments(parser):
    zuulconf.addConfigArgument(parser)
    parser.add_argument('-d', dest='debug', action='store_true',
                        help='log debug messages')
    parser.add_argument('-f', dest='foreground', action='store_true',
                        help='stay in the foreground')
    parser.add_argument(
        '--connection', dest='connections', metavar='NAME', action='append',
        help='a connection whose nodes and images to look after, instead of '
             'those in connection_filter in zuul.conf; may be given several '
             'times')
    parser.add_argument(
        'command', nargs='?', choices=('stop', 'repl', 'norepl'),
        help='tell the running launcher to do this, instead of starting one')


def run(args):
    config = zuulconf.read(args.config)
    zuulconf.requireZooKeeper(config)
    args.nodaemon = bool(args.foreground or args.command)
    if not args.command:
        zuulconf.requireDirectories(config, 'launcher', PLACES)
    if not plugin.install():
        raise UserError('the plugin can not be used here; '
                        '"zuul-nodes doctor" tells why')
    if not args.command:
        filterConnections(config, args.connections)
    # Only now is it known that Zuul is as it should be.
    from zuul_nodes.launcher.daemon import LauncherApp
    try:
        LauncherApp(args, config).main()
    except (FileNotFoundError, ConnectionRefusedError) as error:
        if args.command:
            place = config.get('launcher', 'command_socket',
                               fallback=PLACES['command_socket'])
            raise UserError(f'no launcher listens at {place}; is it '
                            f'running, with this zuul.conf?') from error
        raise
    return 0


def filterConnections(config, names):
    """Have the launcher look after some connections only, if asked to.

    :param ConfigParser config: zuul.conf; is given the names, where the
        launcher reads them.
    :param list names: of connections, from the command line, or None.
    :raises UserError: there is no such connection, or zuul.conf is not
        right.
    """
    from zuul_nodes.suggestions import quote, suggest
    who = '--connection'
    if names is None:
        who = f'zuul.conf: "{FILTER}" in [launcher]'
        names = filter(None, [config.get('launcher', FILTER, fallback=None)])
    # In zuul.conf they are in one line, and may be so here.
    names = [name.strip() for each in names for name in each.split(',')]
    if not names:
        return
    known = getConnections(config)
    for name in names:
        if name not in known:
            raise UserError(f'{who}: there is no connection {quote(name)} '
                            f'that has nodes. {suggest(name, known)}')
    # A percent sign would refer to another option.
    config.read_dict({'launcher': {
        FILTER: ','.join(dict.fromkeys(names)).replace('%', '%%')}})


def getConnections(config):
    """:return: the names of the connections that a launcher deals with.

    :raises UserError: zuul.conf is not right.
    """
    from zuul.driver import ProviderInterface
    from zuul.lib.connections import ConnectionRegistry
    connections = ConnectionRegistry()
    try:
        connections.configure(config, providers=True)
    except Exception as error:
        raise UserError(f'zuul.conf: {error}') from error
    # Zuul adds those of its oldest sections, whatever it is asked for.
    return [name for name, connection in connections.connections.items()
            if isinstance(connection.driver, ProviderInterface)]
