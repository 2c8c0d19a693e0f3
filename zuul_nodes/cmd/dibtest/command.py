"""``zuul-nodes dib-test``: tests an image in an OpenStack cloud."""

import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from zuul_nodes.cmd.common import arguments, output
from zuul_nodes.cmd.common.limits import Interruption, limit, poll
from zuul_nodes.cmd.common.progress import Progress
from zuul_nodes.cmd.dibtest import openssh
from zuul_nodes.cmd.dibtest.errors import BrokenImage, describe
from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart.steps import Steps

DESCRIPTION = '''\
Upload an image file to an OpenStack cloud, boot a server from it, log in with
ssh, compare the host key with the one on the server's console, run a command,
and remove everything again.

The command needs openstacksdk, a clouds.yaml and the OpenSSH client.  It does
not need Zuul.'''
EPILOG = '''\
The exit status is 0 if the image works.  It is 1 if the image is broken: the
server does not become active, ssh does not answer or has the wrong host key,
or the command fails.  It is 2 if the image is not at fault: wrong usage, an
error of the cloud, a resource that could not be removed.  It is 128 plus the
number of the signal if the test was interrupted.'''

WORKS, BROKEN, ERROR = 0, 1, 2
RESULTS = {WORKS: 'SUCCESS', BROKEN: 'FAILURE', ERROR: 'ERROR'}
INTERRUPTED = 'INTERRUPTED'
# Glance's names of disk formats, which are also the suffixes of their files.
DISK_FORMATS = ('qcow2', 'raw', 'vhd', 'vhdx', 'vmdk', 'vdi', 'iso')
# Lines of the console to show after a failure.
CONSOLE_LINES = 40


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument('image', type=_file, help='the image file')
    parser.add_argument(
        '--disk-format', choices=DISK_FORMATS,
        help='format of the file (default: from its suffix)')
    parser.add_argument(
        '--property', dest='properties', type=_property, action='append',
        default=[], metavar='KEY=VALUE',
        help='a property of the image, such as hw_disk_bus=scsi; may be '
             'repeated')

    cloud = parser.add_argument_group('the cloud')
    cloud.add_argument('--cloud', metavar='NAME',
                       help='its name in clouds.yaml (default: OS_CLOUD)')
    cloud.add_argument('--region', metavar='NAME',
                       help='a region of the cloud')
    cloud.add_argument(
        '--name', type=_name, default='dib-test', metavar='PREFIX',
        help='prefix of the names of all resources (default: %(default)s)')

    server = parser.add_argument_group('the server')
    size = server.add_mutually_exclusive_group()
    size.add_argument('--flavor', metavar='NAME',
                      help='name or id of the flavor')
    size.add_argument(
        '--min-ram', type=int, default=1024, metavar='MB',
        help='use the smallest flavor with at least this much memory '
             '(default: %(default)s)')
    server.add_argument(
        '--network', dest='networks', action='append', default=[],
        metavar='NAME', help='name or id of a network; may be repeated')
    server.add_argument(
        '--security-group', dest='security_groups', action='append',
        default=[], metavar='NAME',
        help='a security group that allows ssh; may be repeated')
    server.add_argument(
        '--floating-ip', action=argparse.BooleanOptionalAction,
        help='create a floating IP (default: if the server has no other '
             'reachable address)')
    server.add_argument(
        '--config-drive', action=argparse.BooleanOptionalAction,
        default=True, help='attach a config drive (default: yes)')
    server.add_argument('--user-data', type=_file, metavar='FILE',
                        help='user data for cloud-init or glean')

    login = parser.add_argument_group('the login')
    login.add_argument(
        '--username', default='root', metavar='NAME',
        help='user to log in as: root for images with the simple-init '
             "element, the distribution's user with cloud-init, the "
             'configured user with devuser (default: %(default)s)')
    login.add_argument(
        '--key-name', metavar='NAME',
        help='a key pair in the cloud (default: create one)')
    login.add_argument(
        '--private-key', type=_file, metavar='FILE',
        help='private key of --key-name (default: the keys that ssh finds)')
    login.add_argument(
        '--ssh-port', type=arguments.port, default=22, metavar='PORT',
        help='(default: %(default)s)')
    login.add_argument(
        '--command', default='uname -a', metavar='COMMAND',
        help='command to run; must succeed (default: "%(default)s")')

    for name, seconds, what in (
            ('api', 60, 'each API call'),
            ('upload', 3600, 'the upload, until the image is active'),
            ('boot', 600, 'the boot, until the server is active'),
            ('ssh', 300, 'ssh, from the boot until a login works'),
            ('command', 300, 'the command'),
            ('cleanup', 300, 'the removal of each kind of resource')):
        parser.add_argument(
            f'--{name}-timeout', type=arguments.seconds, default=seconds,
            metavar='SECONDS',
            help=f'time-out for {what} (default: %(default)s)')
    parser.add_argument(
        '--keep', action='store_true',
        help='keep all resources, and print how to log in')
    output.addFormatArgument(parser)


def _file(text):
    path = pathlib.Path(text)
    try:
        with path.open('rb'):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f'cannot read {text}: {error.strerror}') from error


def _property(text):
    name, equals, value = text.partition('=')
    if not (name and equals):
        raise argparse.ArgumentTypeError(
            f'{text} does not have the form KEY=VALUE')
    return name, value


def _name(text):
    if not re.fullmatch(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,63}', text):
        raise argparse.ArgumentTypeError(
            f'{text} does not consist of 1 to 64 letters, digits, "-", "_" '
            f'and ".", with a letter or digit first')
    return text


def run(args):
    # With JSON, standard output has the result only.
    progress = Progress(sys.stderr if args.format == 'json' else sys.stdout)
    test = ImageTest(args, Steps(progress))
    interruption = Interruption()
    try:
        status = _finish(test, interruption)
    finally:
        interruption.end()
    out = Progress(sys.stdout)
    out.say(output.formatJSON(test.getData(status))
            if args.format == 'json' else test.getText(status))
    errors = Progress(sys.stderr)
    if test.console:
        errors.say(f'The last lines of the console:\n{test.console}')
    for problem in test.problems:
        errors.say(f'zuul-nodes dib-test: {problem}')
    return status


def _finish(test, interruption):
    """Run a test and clean up.  :return: the exit status."""
    status = WORKS
    try:
        try:
            test.run()
        finally:
            # Further signals must not interrupt the cleanup.
            interruption.ignore()
    except KeyboardInterrupt:
        status = 128 + interruption.signal
    except Exception as error:
        status = test.fail(error)
    finally:
        cleaned = test.cleanUp()
    if status == WORKS and not cleaned:
        return ERROR
    return status


class ImageTest:
    """One test of an image, step by step, and its results.

    :param Namespace args: the arguments of the command.
    :param Steps steps: receives the steps.
    :ivar list problems: the problems found, one line each.
    :ivar str console: the last lines of the console after a failure.
    """

    def __init__(self, args, steps):
        self.args = args
        self.steps = steps
        self.problems = []
        self.console = ''
        self.cloud = self.ssh = self.host_keys = self.result = None
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='dib-test-'))
        self._private_key = args.private_key

    def run(self):
        """
        :raises BrokenImage: the image does not work.
        :raises UserError: another problem.
        """
        args = self.args
        disk_format = getDiskFormat(args)
        openssh.checkPrograms()
        with self.steps.step('Connect to the cloud'):
            self.cloud = connect(args)
            flavor = self.cloud.findFlavor(args.flavor, args.min_ram)
            networks = [self.cloud.findNetwork(name)
                        for name in args.networks]
            key_name = self._chooseKey()
        with self.steps.step('Upload the image'):
            image = self.cloud.uploadImage(
                args.image, disk_format, args.properties,
                args.upload_timeout)
        with self.steps.step('Boot a server'):
            server = self.cloud.bootServer(
                image, flavor, args.boot_timeout, key_name=key_name,
                networks=networks, security_groups=args.security_groups,
                config_drive=args.config_drive,
                user_data=args.user_data and args.user_data.read_bytes())
            address = self.cloud.getAddress(server, args.floating_ip)
        self.ssh = openssh.SSH(self.directory, address, args.ssh_port,
                               args.username, self._private_key)
        with self.steps.step('Log in'):
            self._logIn()
        with self.steps.step('Run the command'):
            self._runCommand()

    def _chooseKey(self):
        """:return: the name of a key pair in the cloud."""
        if self.args.key_name:
            self.cloud.checkKeypair(self.args.key_name)
            return self.args.key_name
        self._private_key = self.directory / 'key'
        self.cloud.createKeypair(openssh.makeKey(self._private_key))
        return self.cloud.name

    def _logIn(self):
        ssh = self.ssh
        timeout = self.args.ssh_timeout

        def attempt():
            if self.host_keys is None:
                keys = ssh.scan()
                if not keys:
                    return False
                self.host_keys = openssh.HostKeys(
                    keys, self.cloud.getConsole)
            self.host_keys.compareWithConsole()
            ssh.trust(self.host_keys.keys)
            return ssh.logIn()

        with limit(timeout, lambda: BrokenImage(
                f'no login as {ssh.username} within {timeout:g} s: '
                f'{ssh.error_message or "no reason given"}'
                if self.host_keys else
                f'no ssh at {ssh.location} within {timeout:g} s')):
            poll(attempt)

    def _runCommand(self):
        command, timeout = self.args.command, self.args.command_timeout
        try:
            self.result = self.ssh.runCommand(command, timeout)
        except subprocess.TimeoutExpired as error:
            raise BrokenImage(f'"{command}" did not finish within '
                         f'{timeout:g} s') from error
        # cloud-init prints the keys late in the boot.
        self.host_keys.compareWithConsole()
        if self.result.returncode:
            raise BrokenImage(f'"{command}" failed with status '
                         f'{self.result.returncode}')

    def fail(self, error):
        """Record a failure.

        :return: the exit status for it.
        """
        where = (f'"{self.steps.steps[-1].name}" failed: '
                 if self.steps.steps else '')
        self.problems.append(f'{where}{describe(error)}')
        if self.cloud:
            lines = self.cloud.getConsole().splitlines()
            self.console = '\n'.join(lines[-CONSOLE_LINES:])
        return BROKEN if isinstance(error, BrokenImage) else ERROR

    def cleanUp(self):
        """Remove all resources, except with ``--keep``.

        :return: whether this succeeded.
        """
        before = len(self.problems)
        if self.cloud:
            if not self.args.keep:
                for kind in self.cloud.created:
                    self._remove(kind)
            self.cloud.close()
        if not (self.args.keep and self.cloud):
            shutil.rmtree(self.directory, ignore_errors=True)
        return len(self.problems) == before

    def _remove(self, kind):
        try:
            with self.steps.step(f'Remove the {kind}'):
                self.cloud.removeAll(kind, self.args.cleanup_timeout)
        except Exception as error:
            self.problems.append(describe(error))

    # Results

    def getData(self, status):
        """:return: a dict for JSON."""
        return {
            'result': RESULTS.get(status, INTERRUPTED),
            'problems': self.problems,
            'steps': [{'name': step.name, 'result': step.result,
                       'seconds': round(step.seconds, 3)}
                      for step in self.steps],
            'name': self.cloud and self.cloud.name,
            'server': self.cloud and self.cloud.server_id,
            'address': self.ssh and self.ssh.address,
            'host-keys': self.host_keys and {
                'source': self.host_keys.source,
                'fingerprints': self.host_keys.fingerprints},
            'command': self.result and {
                'command': self.args.command,
                'status': self.result.returncode,
                'stdout': self.result.stdout,
                'stderr': self.result.stderr},
            'kept': self._getKept(),
        }

    def getText(self, status):
        """:return: the data of :meth:`getData`, as text for people."""
        rows = [(step.name, step.result, f'{step.seconds:.1f}')
                for step in self.steps]
        rows.append(('Total', RESULTS.get(status, INTERRUPTED),
                     f'{sum(step.seconds for step in self.steps):.1f}'))
        lines = ['', output.formatTable(('Step', 'Result', 'Seconds'), rows)]
        if self.host_keys:
            how = ('compared with the console' if self.host_keys.source ==
                   'console' else 'not compared, as the console has none')
            lines.append(f'Host keys, {how}:')
            lines += [f'    {each}' for each in self.host_keys.fingerprints]
        if self.result:
            lines.append(f'{self.args.command}:')
            lines += [f'    {line}' for line in (
                self.result.stdout + self.result.stderr).splitlines()]
        if kept := self._getKept():
            lines.append(f'Kept in the cloud, under the name '
                         f'{self.cloud.name}: {", ".join(kept["cloud"])}; '
                         f'and here: {kept["directory"]}')
            if kept['ssh']:
                lines.append(f'Log in with: {kept["ssh"]}')
        return '\n'.join(lines)

    def _getKept(self):
        if not (self.args.keep and self.cloud):
            return None
        return {'cloud': self.cloud.created, 'directory': str(self.directory),
                'ssh': self.ssh and shlex.join(self.ssh.getCommand())}


def getDiskFormat(args):
    """:raises UserError: neither the option nor the suffix gives a format."""
    ending = args.image.suffix.removeprefix('.').lower()
    if not (args.disk_format or ending in DISK_FORMATS):
        raise UserError(
            f'{args.image}: the suffix does not tell the disk format; use '
            f'--disk-format with one of {", ".join(DISK_FORMATS)}')
    return args.disk_format or ending


def connect(args):
    """
    :return: an :class:`.openstackimage.OpenStackImage`.
    :raises UserError: openstacksdk is missing.
    """
    try:
        from zuul_nodes.cmd.dibtest.openstackimage import OpenStackImage
    except ModuleNotFoundError as error:
        raise UserError(f'{error.name} is missing: install it with "pip '
                        f'install zuul-nodes[openstack]"') from error
    return OpenStackImage(args.cloud, args.region, args.name,
                          args.api_timeout)
