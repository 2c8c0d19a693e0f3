"""The first node: a private sshd on loopback.

It accepts one key, which only this quickstart has, for the user who runs
it, and listens on a port of its own beside any sshd of the machine.

Its sessions have a home directory of their own: what a shell does when it
begins is no business of a job, and may be interrupted with it.  One that was
killed while it held a lock in the user's home would keep all shells waiting.
"""

import getpass
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

# Debian's sshd insists on it when run by root, and its init script makes it.
PRIVILEGE_SEPARATION_DIRECTORY = pathlib.Path('/run/sshd')

CONFIG = '''\
ListenAddress {address}
Port {port}
HostKey {host_key}
AuthorizedKeysFile {authorized_keys}
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM {use_pam}
AllowUsers {user}
PermitUserRC no
SetEnv {variable}={run} HOME={home}
Subsystem sftp internal-sftp
'''


class SSHKeys:
    """The keys of the node and of the executor; made if missing.

    :param directory: where they are.
    :ivar pathlib.Path host_key: the node's private key.
    :ivar pathlib.Path user_key: the private key that it lets in.
    :ivar pathlib.Path authorized_keys: the public key that it lets in.
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

    :param config_file: its configuration, written by start(); the home of
        its sessions is beside it.
    :param SSHKeys keys: its own and the accepted one.
    :param int port: where it listens.
    :param dict environment: its environment, with the variable that marks
        the run.
    :param log_file: its log.
    """

    def __init__(self, config_file, keys, port, environment, log_file):
        self.config_file = pathlib.Path(config_file)
        self.home = self.config_file.with_name('home')
        self.keys = keys
        self.port = port
        self.environment = environment
        # sshd runs itself again for each connection, by its absolute path.
        self.process = Process(
            'sshd', [findProgram('sshd'), '-D', '-e', '-f', self.config_file],
            log_file, environment)

    def start(self):
        """Returns when it answers.

        :raises Failure: it ended, or did not answer in time.
        """
        user = getpass.getuser()
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.config_file.write_text(CONFIG.format(
            address=LOOPBACK, port=self.port, host_key=self.keys.host_key,
            authorized_keys=self.keys.authorized_keys, user=user,
            use_pam='yes' if _passwordLocked(user) else 'no',
            home=self.home, variable=leftovers.VARIABLE,
            run=self.environment[leftovers.VARIABLE]))
        if os.geteuid() == 0:
            PRIVILEGE_SEPARATION_DIRECTORY.mkdir(mode=0o755, exist_ok=True)
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


def _passwordLocked(user):
    """Without PAM, sshd turns away a user whose password is locked, which
    root's is on many machines.  Only root can read this, and only sshd run
    by root can look."""
    try:
        shadow = pathlib.Path('/etc/shadow').read_text()
    except OSError:
        return False
    return any(line.startswith(f'{user}:!') for line in shadow.splitlines())
