"""A machine as seen by OpenSSH's programs: its host keys, and a login."""

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
# Names the machine in known_hosts, whatever its address and port are.
ALIAS = 'tested-image'
# What cloud-init writes to the console.
CONSOLE_BLOCK = re.compile(
    r'-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----',
    re.DOTALL)
KEY = re.compile(r'((?:ssh|ecdsa|sk)-\S+) ([A-Za-z0-9+/]{40,}=*)')


def checkPrograms():
    """:raises UserError: one is missing."""
    for program in PROGRAMS:
        if not shutil.which(program):
            raise UserError(f'{program} is missing: install OpenSSH\'s '
                            f'client, "apt-get install openssh-client"')


def makeKey(path):
    """Make a key pair.  :return: the public key, in one line."""
    _run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', ALIAS,
          '-f', str(path)], check=True)
    return path.with_name(f'{path.name}.pub').read_text().strip()


class HostKeys:
    """Is it the machine that the console belongs to?

    :param dict scanned: type -> key, as the ssh port shows them.
    :param getConsole: gives the log of the console, as far as it goes.
    :ivar dict keys: type -> key, those to trust.
    :ivar str source: ``console`` if they were found there, else ``scan``.
    """

    def __init__(self, scanned, getConsole):
        self.keys = scanned
        self.source = 'scan'
        self._getConsole = getConsole

    @property
    def fingerprints(self):
        return [f'{key_type} {getFingerprint(key)}'
                for key_type, key in sorted(self.keys.items())]

    def check(self):
        """Compare them, if the console has keys by now.

        :raises BrokenImage: the console has other ones.
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
    :return: dict type -> key, of the latest boot.
    """
    blocks = CONSOLE_BLOCK.findall(console)
    return dict(KEY.findall(blocks[-1])) if blocks else {}


def getFingerprint(key):
    """:return: as ``ssh-keygen -l`` prints it."""
    digest = hashlib.sha256(base64.b64decode(key)).digest()
    return f'SHA256:{base64.b64encode(digest).decode().rstrip("=")}'


class SSH:
    """
    :param directory: where known_hosts is kept.
    :param str address: of the machine.
    :param int port: of its sshd.
    :param str username: to log in as.
    :param private_key: the file of a key, or None for whatever ssh finds.
    :ivar str said: what the last failed attempt to log in said.
    """

    def __init__(self, directory, address, port, username, private_key=None):
        self.known_hosts = pathlib.Path(directory, 'known_hosts')
        self.address = address
        self.port = port
        self.username = username
        self.private_key = private_key
        self.said = ''

    @property
    def place(self):
        return f'{self.address} port {self.port}'

    def scan(self):
        """:return: dict type -> host key; empty if nobody answers."""
        try:
            scanned = _run(['ssh-keyscan', '-T', str(CONNECT_TIMEOUT),
                            '-p', str(self.port), self.address])
        except subprocess.TimeoutExpired:
            return {}
        return dict(KEY.findall(scanned.stdout))

    def trust(self, keys):
        """Accept these host keys and no others.

        :param dict keys: type -> key.
        """
        self.known_hosts.write_text(''.join(
            f'{ALIAS} {key_type} {key}\n' for key_type, key in keys.items()))

    def logIn(self):
        """:return: whether it worked.

        :raises BrokenImage: and never will.
        """
        try:
            result = self.run('exit 0', PROGRAM_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.said = 'the session does not begin'
            return False
        if result.returncode == 0:
            return True
        self.said = _lastLine(result.stderr or result.stdout)
        if 'Host key verification failed' in result.stderr:
            raise BrokenImage(f'the host key of {self.place} has changed '
                             f'since it was first seen')
        if result.returncode == SSH_FAILED:
            return False
        raise BrokenImage(f'{self.username} can not run a command: '
                         f'{self.said or f"status {result.returncode}"}')

    def run(self, command, timeout):
        """Run a command of the machine's shell.

        :param float timeout: seconds.
        :return: a CompletedProcess, with text.
        :raises subprocess.TimeoutExpired: it is still running.
        """
        return _run([*self.getCommand(
            'BatchMode=yes', f'ConnectTimeout={CONNECT_TIMEOUT}',
            'LogLevel=ERROR'), command], timeout=timeout)

    def getCommand(self, *options):
        """
        :param options: for ``-o``.
        :return: how to log in, a list.
        """
        options = (
            'StrictHostKeyChecking=yes', f'HostKeyAlias={ALIAS}',
            f'UserKnownHostsFile={self.known_hosts}',
            'GlobalKnownHostsFile=/dev/null', 'UpdateHostKeys=no',
            'ServerAliveInterval=10', *options)
        # A person's own configuration could say anything of that address.
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
        # Ctrl-C is for us, who end it.
        start_new_session=True)


def _lastLine(text):
    return text.strip().rpartition('\n')[2]
