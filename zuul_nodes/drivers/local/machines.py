"""Nodes: process trees with a file system and an sshd of their own.

A node's directory has its file system at ``root``, and the files for sshd at
``config``.  Each step can be repeated, and the files show the progress, so an
interrupted launch continues.
"""

import logging
import pathlib
import re
import time

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from zuul_nodes.drivers import (
    DriverError,
    PermanentError,
    TemporaryError,
)
from zuul_nodes.drivers.local import sandbox
from zuul_nodes.drivers.local.entries import Entries
from zuul_nodes.drivers.local.forward import ADDRESS
from zuul_nodes.drivers.local.sandbox import UID, Sandbox, describe

USERNAME = re.compile(r'[a-z_][a-z0-9_-]{0,31}')
# The path of "config" inside a node.
CONFIG = '/run/zuul-nodes'
BOOT = pathlib.Path(__file__).with_name('boot.sh')
RESOLV_CONF = pathlib.Path('/etc/resolv.conf')
# sshd runs as the user, so it can admit no other user, cannot check passwords,
# and does not separate privileges.
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
# Number of attempts to start a node, in case other programs take its port.
STARTS = 5
# Seconds until the sshd of a node has to listen.
BOOTING = 60
PAUSE = 0.02


class Machines:
    """Creates, starts and deletes nodes.

    :param Path directory: of the nodes.
    :param Users users: the owners of nodes.
    :param Cgroups cgroups: enforces their limits; may be None.
    :param bool has_network: whether new nodes have the machine's network.
    """

    log = logging.getLogger('zuul.nodes.drivers.local')

    def __init__(self, directory, users, cgroups=None, has_network=True):
        self.users = users
        self.cgroups = cgroups
        self.has_network = has_network
        self.entries = Entries(directory, users)

    def addNode(self, name, metadata, username, source, limits):
        """Record a node before its launch; do nothing if it is recorded.

        :param str name: of the node.
        :param dict metadata: of the node.
        :param str username: who logs in.
        :param source: of its file system, for JSON.
        :param dict limits: may have ``cores``, and ``ram`` in MiB.
        :raises PermanentError: the user is not allowed.
        """
        if not USERNAME.fullmatch(username) or username == 'root':
            raise PermanentError(
                f'"{username}" cannot be the user of a node on this machine; '
                'use an ordinary one such as "zuul"')
        self.entries.prepare()
        if self.entries.read(name) is None:
            self.entries.write(name, {
                'metadata': metadata, 'username': username,
                'source': source, 'limits': limits})

    def getNode(self, name):
        """
        :return: the metadata of a node, a dict with ``metadata``,
            ``username``, ``source`` and ``limits``; once they are known,
            ``host_keys`` and ``port``; finally ``ready``, or ``failure`` with
            the kind of the error and its message.  None if the node does not
            exist.
        """
        return self.entries.read(name)

    def makeNode(self, name, fill, authorized_keys):
        """Continue the launch of a node until it is ready or has failed; do
        nothing while another launcher works on it.  May take long.

        :param fill: called for the file system with the source, an empty
            directory in that of the node, the mark of the node, and its user.
        :param authorized_keys: returns the public keys that can log in.
        """
        with self.entries.lock(name) as is_mine:
            if not is_mine:
                return
            data = self.getNode(name)
            if data is None:
                # It was deleted meanwhile, so delete the lock.
                self.entries.removeEntry(name)
            elif data.keys().isdisjoint(('ready', 'failure')):
                outcome = self._make(name, data, fill, authorized_keys)
                self.entries.write(name, self.getNode(name) | outcome)

    def _make(self, name, data, fill, authorized_keys):
        try:
            if not self._resume(name):
                with self.users.claim(self.entries.path(name)) as user:
                    if not self.getRoot(name).exists():
                        self._build(name, user, data, fill, authorized_keys())
                    self._boot(name, user)
        except DriverError as error:
            return {'failure': [error.failure, str(error)]}
        except Exception as error:
            self.log.exception('Unable to launch node %s', name)
            return {'failure': [DriverError.failure, str(error)]}
        return {'ready': True}

    def getRoot(self, name):
        return self.entries.path(name, 'root')

    def _build(self, name, user, data, fill, authorized_keys):
        mark = self.entries.getMark(name)
        # Processes of an earlier attempt.
        sandbox.kill(mark)
        self.entries.makeDirectory(name, user)
        config = self.entries.path(name, 'config')
        config.mkdir()
        user.give(config)
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
            _give(user, config / file, content)
        self.entries.write(name, data | {
            'host_keys': [host_key.public_key().public_bytes(
                serialization.Encoding.OpenSSH,
                serialization.PublicFormat.OpenSSH).decode()]})
        new = self.entries.path(name, 'new')
        new.mkdir()
        user.give(new)
        fill(data['source'], new, mark, user)
        new.rename(self.getRoot(name))

    def _resume(self, name):
        """:return: whether another launcher has started the node and it is
            ready."""
        if (not self.getRoot(name).exists()
                or self.entries.getMark(name) not in sandbox.find()):
            return False
        # The other launcher may have died before it set the limits.
        self._limit(name)
        return self._await(name)

    def _boot(self, name, user):
        # Another entry may have claimed the user of an earlier attempt.
        Sandbox(user).giveAll(
            self.entries.getMark(name), self.entries.path(name))
        for _ in range(STARTS):
            self._checkStart(name)
            self._start(name, user)
            if self._await(name):
                return
        raise TemporaryError(
            f'The node has not started in {STARTS} attempts')

    def _await(self, name):
        """
        :return: whether the node is ready; False if it has ended.
        :raises DriverError: the time is over.
        """
        mark = self.entries.getMark(name)
        end = time.monotonic() + BOOTING
        while mark in sandbox.find():
            if LISTENING in self.readLog(name):
                return True
            if time.monotonic() > end:
                raise DriverError(
                    f'The node has not booted in {BOOTING} seconds')
            time.sleep(PAUSE)
        return False

    def _start(self, name, user):
        if self.has_network:
            self._startAt(name, user, _findPort())
            return
        with sandbox.bindPort() as entrance:
            self._startAt(name, user, entrance.getsockname()[1], entrance)

    def _startAt(self, name, user, port, entrance=None):
        data = self.getNode(name) | {'port': port}
        config = self.entries.path(name, 'config')
        _give(user, config / 'sshd_config', SSHD_CONFIG.format(
            port=port, user=data['username']).encode())
        self.entries.write(name, data)
        with open(self._getLog(name), 'wb') as log:
            Sandbox(user).start(self.entries.getMark(name), [
                '--uid', str(UID), '--gid', str(UID), '--hostname',
                f'local-{name[:12]}', '--bind', self.getRoot(name), '/',
                '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/run',
                '--ro-bind', config, CONFIG, '--chdir', '/', '--',
                '/bin/sh', f'{CONFIG}/boot.sh', data['username'], str(UID),
            ], log, lambda: self._limit(name), entrance)

    def _limit(self, name):
        if self.cgroups:
            mark = self.entries.getMark(name)
            limits = self.getNode(name).get('limits', {})
            self.cgroups.limit(name, limits, lambda: {
                process.pid for process in sandbox.find()[mark]})

    def _checkStart(self, name):
        """
        :raises DriverError: an earlier start has failed, and another one would
            fail as well.
        """
        said = self.readLog(name)
        if said and PORT_TAKEN not in said:
            raise DriverError(
                f'The image does not boot on this machine: {describe(said)}')

    def removeNode(self, name):
        """Delete a node and kill its processes; do nothing if it does not
        exist.  May take long."""
        while True:
            # This includes processes that create the node.
            sandbox.kill(self.entries.getMark(name))
            with self.entries.lock(name) as is_mine:
                if is_mine:
                    if data := self.getNode(name):
                        # After an interruption, the launch must not continue.
                        self.entries.write(name, data | {'failure': [
                            DriverError.failure, 'it is being deleted']})
                    if self.cgroups:
                        self.cgroups.removeGroup(name)
                    self.entries.removeEntry(name)
                    return
            time.sleep(PAUSE)

    def readLog(self, name):
        """:return: the output of a node, up to a maximum length."""
        try:
            # Jobs may write to it without a limit.
            with open(self._getLog(name), 'rb') as log:
                return log.read(1 << 16).decode(errors='replace')
        except FileNotFoundError:
            return ''

    def _getLog(self, name):
        return self.entries.path(name, 'log')


def _give(user, path, content):
    path.write_bytes(content)
    user.give(path)


def _findPort():
    """:return: a port that is free now; sshd fails if it is taken later."""
    with sandbox.bindPort() as sock:
        return sock.getsockname()[1]
