"""Nodes: process trees with a file system and an sshd of their own.

A node's directory has its file system at ``root``, and at ``config`` what
sshd needs.  Everything here can be repeated, and whatever was interrupted
goes on: what there is tells how far it has come.
"""

import pathlib
import re
import socket

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from zuul_nodes.drivers.local import sandbox
from zuul_nodes.drivers.local.entries import Entries
from zuul_nodes.drivers.local.sandbox import LocalError, describe

ADDRESS = '127.0.0.1'
# What the user of a node is inside.
UID = 1000
USERNAME = re.compile(r'[a-z_][a-z0-9_-]{0,31}')
# Where a node sees what is at "config".
CONFIG = '/run/zuul-nodes'
BOOT = pathlib.Path(__file__).with_name('boot.sh')
RESOLV_CONF = pathlib.Path('/etc/resolv.conf')
# sshd is run by the user alone, so it can let in nobody else, knows no
# passwords, and has nothing to separate.
SSHD_CONFIG = f'''\
ListenAddress {ADDRESS}
Port {{port}}
HostKey {CONFIG}/host_key
AuthorizedKeysFile {CONFIG}/authorized_keys
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
AllowUsers {{user}}
Subsystem sftp internal-sftp
'''
LISTENING = f'Server listening on {ADDRESS} port '
PORT_TAKEN = 'Address already in use'


class Machines:
    """
    :param Path directory: where they are.
    :param Sandbox sandbox: of the user whose they are.
    """

    def __init__(self, directory, sandbox):
        self.sandbox = sandbox
        self.entries = Entries(directory, sandbox)

    def add(self, name, metadata, username):
        """Record a node that is about to be made; nothing if it is known.

        :param str name: of the node.
        :param dict metadata: what is to be known of it.
        :param str username: who logs in.
        :raises LocalError: this user is not to be had.
        """
        if not USERNAME.fullmatch(username) or username == 'root':
            raise LocalError(
                f'"{username}" can not be the user of a node on this '
                'machine; it has to be an ordinary one such as "zuul"',
                'permanent')
        self.entries.prepare()
        if self.entries.read(name) is None:
            self.entries.write(
                name, {'metadata': metadata, 'username': username})

    def get(self, name):
        """:return: what is known of a node, a dict with ``metadata``,
            ``username`` and, once they are known, ``host_keys`` and
            ``port``; None if there is no such node."""
        return self.entries.read(name)

    def isBuilt(self, name):
        """:return: whether a node has all that it needs to start."""
        return self.getRoot(name).exists()

    def getRoot(self, name):
        return self.entries.path(name, 'root')

    def build(self, name, fill, authorized_keys):
        """Make what a node needs to start.  Takes time.

        :param fill: called with an empty directory, for the file system.
        :param str authorized_keys: the public keys that are let in.
        """
        # Of an earlier attempt.
        sandbox.kill(name)
        self.entries.makeDirectory(name)
        config = self.entries.path(name, 'config')
        config.mkdir()
        self.sandbox.give(config)
        host_key = ed25519.Ed25519PrivateKey.generate()
        for file, content in (
                ('authorized_keys', authorized_keys.encode() + b'\n'),
                ('boot.sh', BOOT.read_bytes()),
                ('resolv.conf', RESOLV_CONF.read_bytes()
                 if RESOLV_CONF.exists() else b''),
                ('host_key', host_key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.OpenSSH,
                    serialization.NoEncryption()))):
            self._give(config / file, content)
        self.entries.write(name, self.get(name) | {
            'host_keys': [host_key.public_key().public_bytes(
                serialization.Encoding.OpenSSH,
                serialization.PublicFormat.OpenSSH).decode()]})
        new = self.entries.path(name, 'new')
        new.mkdir()
        self.sandbox.give(new)
        fill(new)
        new.rename(self.getRoot(name))

    def isRunning(self, name):
        return name in sandbox.find()

    def start(self, name):
        """Start a node that is built and not running."""
        data = self.get(name) | {'port': _findPort()}
        config = self.entries.path(name, 'config')
        self._give(config / 'sshd_config', SSHD_CONFIG.format(
            port=data['port'], user=data['username']).encode())
        self.entries.write(name, data)
        with open(self._getLog(name), 'wb') as log:
            self.sandbox.start(name, [
                '--uid', str(UID), '--gid', str(UID), '--hostname',
                f'local-{name[:12]}', '--bind', self.getRoot(name), '/',
                '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/run',
                '--ro-bind', config, CONFIG, '--chdir', '/', '--',
                '/bin/sh', f'{CONFIG}/boot.sh', data['username'], str(UID),
            ], log)

    def isListening(self, name):
        """:return: whether one can log in to a node that was started."""
        return LISTENING in self._readLog(name)

    def checkStart(self, name):
        """
        :raises LocalError: a node that does not run was started before,
            and it would be no use to do so again.
        """
        said = self._readLog(name)
        if said and PORT_TAKEN not in said:
            raise LocalError(
                f'The image does not boot on this machine: {describe(said)}')

    def remove(self, name):
        """Remove a node with all that it has started; nothing if there is
        no such node.  Takes time."""
        self.entries.remove(name)

    def _readLog(self, name):
        try:
            # Jobs may make it grow.
            with open(self._getLog(name), 'rb') as log:
                return log.read(1 << 16).decode(errors='replace')
        except FileNotFoundError:
            return ''

    def _getLog(self, name):
        return self.entries.path(name, 'log')

    def _give(self, path, content):
        path.write_bytes(content)
        self.sandbox.give(path)


def _findPort():
    """:return: a port that is free now; sshd says if it is not any more."""
    with socket.socket() as sock:
        sock.bind((ADDRESS, 0))
        return sock.getsockname()[1]
