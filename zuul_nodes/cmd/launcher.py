"""``zuul-nodes launcher``: the launcher as a process of its own."""

from zuul_nodes import plugin, zuulconf
from zuul_nodes.exceptions import UserError

# Options in [launcher] that name a file to be made, and Zuul's defaults.
PLACES = {
    'command_socket': '/var/lib/zuul/launcher.socket',
    'pidfile': '/var/run/zuul/launcher.pid',
}


def addArguments(parser):
    zuulconf.addConfigArgument(parser)
    parser.add_argument('-d', dest='debug', action='store_true',
                        help='log debug messages')
    parser.add_argument('-f', dest='foreground', action='store_true',
                        help='stay in the foreground')
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
    # Only now is it known that Zuul is as it should be.
    from zuul_nodes.launcher.process import LauncherApp
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
