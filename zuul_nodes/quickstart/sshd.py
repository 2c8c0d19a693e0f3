"""The first node: a private sshd on loopback, isolated by bubblewrap.

It accepts one key, which only this quickstart has, and listens on a port of
its own, beside any other sshd of the machine.

Its sessions see the programs of this machine, /etc, a separate home directory
and one directory for images.  They see none of the quickstart's files and no
other files of its user, so no job can read the keys of this Zuul.  A job is
also independent of that user's shell profile.  Otherwise a job that was killed
while its shell held a lock in the user's home would block all further shells.
"""

import os
import pathlib
import socket

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from zuul_nodes.quickstart import leftovers
from zuul_nodes.quickstart.certificates import writePrivate
from zuul_nodes.quickstart.ports import LOOPBACK
from zuul_nodes.quickstart.preflight import findProgram
from zuul_nodes.quickstart.process import Process

# The only user inside the sandbox.
USER = 'zuul'
UID = 1000
HOME = f'/home/{USER}'
# The directory of sshd's files inside the sandbox.
INNER = '/run/quickstart'
# The machine's directories inside the sandbox; dpkg-query needs the last one.
VISIBLE = ('usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'etc',
           'var/lib/dpkg')
# An ordinary user runs sshd, so it can let in only that user and cannot check
# passwords.
FILES = {
    'passwd': f'root:x:0:0:root:/root:/bin/sh\n'
              f'{USER}:x:{UID}:{UID}::{HOME}:/bin/sh\n',
    # sshd cannot assign terminals to a group "tty" here.
    'group': f'root:x:0:\n{USER}:x:{UID}:\n',
    'sshd_config': f'''\
ListenAddress {LOOPBACK}
Port {{port}}
HostKey {INNER}/host_key
AuthorizedKeysFile {INNER}/authorized_keys
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
AllowUsers {USER}
PermitUserRC no
SetEnv {leftovers.VARIABLE}={{run}}
Subsystem sftp internal-sftp
''',
}


class SSHKeys:
    """The keys of the node and of the executor; created if missing.

    :param directory: the directory of the keys.
    :ivar pathlib.Path host_key: the node's private key.
    :ivar pathlib.Path user_key: the private key that the node accepts.
    :ivar pathlib.Path authorized_keys: the public key that the node accepts.
    """

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.host_key = directory / 'host_key'
        self.user_key = directory / 'user_key'
        self.authorized_keys = directory / 'authorized_keys'
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _loadOrCreateKey(self.host_key)
        public_key = _loadOrCreateKey(self.user_key).public_key()
        self.authorized_keys.write_bytes(public_key.public_bytes(
            serialization.Encoding.OpenSSH,
            serialization.PublicFormat.OpenSSH) + b'\n')


class SSHD:
    """The node's sshd.

    :param directory: for its files and the home directory of its sessions;
        its user must have access to the parent.  Created by start().
    :param User user: the user of the machine that runs it.
    :param SSHKeys keys: its own and the accepted key.
    :param int port: the port to listen on.
    :param dict environment: its environment, with the variable that marks
        the run.
    :param log_file: its log.
    :param shared: an additional directory for sessions, which belongs to the
        user; by default none.
    """

    def __init__(self, directory, user, keys, port, environment, log_file,
                 shared=None):
        self.directory = pathlib.Path(directory)
        self.user = user
        self.config = self.directory / 'config'
        self.home = self.directory / 'home'
        self.keys = keys
        self.port = port
        self.environment = environment
        self.process = Process(
            'sshd', user.wrap(self._makeCommand(shared)), log_file,
            environment)

    def _makeCommand(self, shared):
        binds = []
        for name in VISIBLE:
            path = pathlib.Path('/', name)
            if path.is_symlink():
                binds += ['--symlink', os.readlink(path), path]
            elif path.is_dir():
                binds += ['--ro-bind', path, path]
        for name in ('passwd', 'group'):
            binds += ['--ro-bind', self.config / name, f'/etc/{name}']
        # Last, because it may be below a directory that is mounted over.
        last = ['--bind', shared, shared] if shared else []
        return [
            'bwrap', '--die-with-parent', '--unshare-user', '--unshare-pid',
            '--unshare-ipc', '--cap-drop', 'ALL', '--uid', str(UID), '--gid',
            str(UID), *binds, '--proc', '/proc', '--dev', '/dev', '--tmpfs',
            '/tmp', '--tmpfs', '/run', '--ro-bind', self.config, INNER,
            '--bind', self.home, HOME, *last, '--chdir', '/', '--',
            # The absolute path, because sshd executes itself again for each
            # connection.
            findProgram('sshd'), '-D', '-e', '-f', f'{INNER}/sshd_config']

    def start(self):
        """Start sshd and wait until it answers.

        :raises Failure: it ended, or did not answer in time.
        """
        for directory in (self.directory, self.config, self.home):
            directory.mkdir(exist_ok=True)
            self.user.give(directory)
        values = {'port': self.port,
                  'run': self.environment[leftovers.VARIABLE]}
        contents = {name: text.format(**values).encode()
                    for name, text in FILES.items()}
        for path in (self.keys.host_key, self.keys.authorized_keys):
            contents[path.name] = path.read_bytes()
        for name, content in contents.items():
            writePrivate(self.config / name, content)
            self.user.give(self.config / name)
        self.process.start()
        self.process.waitFor(self._answers, 'it does not answer', 15)

    def _answers(self):
        try:
            with socket.create_connection((LOOPBACK, self.port), 2) as sock:
                return sock.recv(4) == b'SSH-'
        except OSError:
            return False

    def stop(self):
        self.process.stop()


def _loadOrCreateKey(path):
    try:
        return serialization.load_ssh_private_key(path.read_bytes(), None)
    except (FileNotFoundError, ValueError):
        key = ed25519.Ed25519PrivateKey.generate()
        writePrivate(path, key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption()))
        return key
