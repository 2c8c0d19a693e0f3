"""Host keys and logins of a server, through the programs of OpenSSH."""

import base64
import hashlib
import pathlib
import re
import shutil
import subprocess

from zuul_nodes.cmd.dibtest.errors import BrokenImage
from zuul_nodes.exceptions import UserError

PROGRAMS = ('ssh', 'ssh-keygen', 'ssh-keyscan')
# Seconds, for one connection and for a program that makes several.
CONNECT_TIMEOUT = 5
PROGRAM_TIMEOUT = 60
# The exit status of ssh for its own failures.
SSH_FAILED = 255
# Identifies the server in known_hosts, independent of its address and port.
ALIAS = 'tested-image'
# The block that cloud-init writes to the console.
CONSOLE_BLOCK = re.compile(
    r'-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----',
    re.DOTALL)
KEY = re.compile(r'((?:ssh|ecdsa|sk)-\S+) ([A-Za-z0-9+/]{40,}=*)')


def checkPrograms():
    """:raises UserError: one of the programs is missing."""
    for program in PROGRAMS:
        if not shutil.which(program):
            raise UserError(f'{program} is missing: install the OpenSSH '
                            f'client, "apt-get install openssh-client"')


def makeKey(path):
    """Create a key pair.  :return: the public key, in one line."""
    _run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', ALIAS,
          '-f', str(path)], check=True)
    return path.with_name(f'{path.name}.pub').read_text().strip()


class HostKeys:
    """Verifies that the ssh port belongs to the server with the console.

    :param dict scanned: type -> key, from the ssh port.
    :param getConsole: returns the log of the console so far.
    :ivar dict keys: type -> key; the keys to trust.
    :ivar str source: ``console`` if the console has the keys, else ``scan``.
    """

    def __init__(self, scanned, getConsole):
        self.keys = scanned
        self.source = 'scan'
        self._getConsole = getConsole

    @property
    def fingerprints(self):
        return [f'{key_type} {getFingerprint(key)}'
                for key_type, key in sorted(self.keys.items())]

    def compareWithConsole(self):
        """Compare the keys with the console's, if it has any yet.

        :raises BrokenImage: the console has other keys.
        """
        if self.source == 'console':
            return
        expected = findHostKeys(self._getConsole())
        if not expected:
            return
        shown = {key_type: key for key_type, key in self.keys.items()
                 if expected.get(key_type) == key}
        wrong = [key_type for key_type, key in sorted(self.keys.items())
                 if expected.get(key_type, key) != key]
        if wrong or not shown:
            key_type = wrong[0] if wrong else min(self.keys)
            known = (f'the {key_type} key '
                     f'{getFingerprint(expected[key_type])}'
                     if key_type in expected else f'no {key_type} key')
            raise BrokenImage(
                f'wrong host key: the ssh port shows the {key_type} key '
                f'{getFingerprint(self.keys[key_type])}, the console has '
                f'{known}')
        self.keys = shown
        self.source = 'console'


def findHostKeys(console):
    """
    :param str console: the log of a console.
    :return: dict type -> key, from the latest boot.
    """
    blocks = CONSOLE_BLOCK.findall(console)
    return dict(KEY.findall(blocks[-1])) if blocks else {}


def getFingerprint(key):
    """:return: the fingerprint as ``ssh-keygen -l`` prints it."""
    digest = hashlib.sha256(base64.b64decode(key)).digest()
    return f'SHA256:{base64.b64encode(digest).decode().rstrip("=")}'


class SSH:
    """Logs in to a server with ssh.

    :param directory: for known_hosts.
    :param str address: of the server.
    :param int port: of its sshd.
    :param str username: to log in as.
    :param private_key: the file of a key; None for the keys that ssh finds.
    :ivar str error_message: the error of the last failed login.
    """

    def __init__(self, directory, address, port, username, private_key=None):
        self.known_hosts = pathlib.Path(directory, 'known_hosts')
        self.address = address
        self.port = port
        self.username = username
        self.private_key = private_key
        self.error_message = ''

    @property
    def location(self):
        return f'{self.address} port {self.port}'

    def scan(self):
        """:return: dict type -> host key; empty if sshd does not answer."""
        try:
            scanned = _run(['ssh-keyscan', '-T', str(CONNECT_TIMEOUT),
                            '-p', str(self.port), self.address])
        except subprocess.TimeoutExpired:
            return {}
        return dict(KEY.findall(scanned.stdout))

    def trust(self, keys):
        """Accept only these host keys.

        :param dict keys: type -> key.
        """
        self.known_hosts.write_text(''.join(
            f'{ALIAS} {key_type} {key}\n' for key_type, key in keys.items()))

    def logIn(self):
        """
        :return: whether the login worked.
        :raises BrokenImage: the login cannot work later either.
        """
        try:
            result = self.runCommand('exit 0', PROGRAM_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.error_message = 'the session does not start'
            return False
        if result.returncode == 0:
            return True
        self.error_message = _lastLine(result.stderr or result.stdout)
        if 'Host key verification failed' in result.stderr:
            raise BrokenImage(f'the host key of {self.location} has changed '
                             f'since it was first seen')
        if result.returncode == SSH_FAILED:
            return False
        reason = self.error_message or f'status {result.returncode}'
        raise BrokenImage(f'{self.username} cannot run a command: {reason}')

    def runCommand(self, command, timeout):
        """Run a shell command on the server.

        :param float timeout: seconds.
        :return: a CompletedProcess, with text.
        :raises subprocess.TimeoutExpired: the command is still running.
        """
        return _run([*self.getCommand(
            'BatchMode=yes', f'ConnectTimeout={CONNECT_TIMEOUT}',
            'LogLevel=ERROR'), command], timeout=timeout)

    def getCommand(self, *options):
        """
        :param options: for ``-o``.
        :return: the ssh command that logs in, a list.
        """
        options = (
            'StrictHostKeyChecking=yes', f'HostKeyAlias={ALIAS}',
            f'UserKnownHostsFile={self.known_hosts}',
            'GlobalKnownHostsFile=/dev/null', 'UpdateHostKeys=no',
            'ServerAliveInterval=10', *options)
        # The user's own ssh configuration could match this address.
        command = ['ssh', '-F', 'none', '-p', str(self.port),
                   '-l', self.username]
        if self.private_key:
            options = ('IdentitiesOnly=yes', *options)
            command += ['-i', str(self.private_key)]
        for option in options:
            command += ['-o', option]
        return [*command, self.address]


def _run(command, timeout=PROGRAM_TIMEOUT, check=False):
    return subprocess.run(
        command, timeout=timeout, check=check, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors='replace',
        # Ctrl-C interrupts the test, which then ends the program.
        start_new_session=True)


def _lastLine(text):
    return text.strip().rpartition('\n')[2]
