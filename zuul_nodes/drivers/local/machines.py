"""Nodes: process trees with a file system and an sshd of their own.

A node's directory has its file system at ``root``, and at ``config`` what
sshd needs.  Everything here can be repeated, and whatever was interrupted
goes on: what there is tells how far it has come.
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
# How often a node is started, in case others take its port.
STARTS = 5
# Seconds in which one can log in to what was started.
BOOTING = 60
PAUSE = 0.02


class Machines:
    """
    :param Path directory: where they are.
    :param Users users: whose they are.
    :param Cgroups cgroups: in which they have limits, if there are any.
    :param bool has_network: whether new ones have the machine's network.
    """

    log = logging.getLogger('zuul.nodes.drivers.local')

    def __init__(self, directory, users, cgroups=None, has_network=True):
        self.users = users
        self.cgroups = cgroups
        self.has_network = has_network
        self.entries = Entries(directory, users)

    def add(self, name, metadata, username, source, limits):
        """Record a node that is to be made; nothing if it is known.

        :param str name: of the node.
        :param dict metadata: what is to be known of it.
        :param str username: who logs in.
        :param source: what its file system is made of, for JSON.
        :param dict limits: may have ``cores``, and ``ram`` in MiB.
        :raises PermanentError: this user is not to be had.
        """
        if not USERNAME.fullmatch(username) or username == 'root':
            raise PermanentError(
                f'"{username}" can not be the user of a node on this '
                'machine; it has to be an ordinary one such as "zuul"')
        self.entries.prepare()
        if self.entries.read(name) is None:
            self.entries.write(name, {
                'metadata': metadata, 'username': username,
                'source': source, 'limits': limits})

    def get(self, name):
        """
        :return: what is known of a node, a dict with ``metadata``,
            ``username``, ``source`` and ``limits``; once they are known,
            ``host_keys`` and ``port``; and in the end ``ready``, or
            ``failure``, which is what it means and a message.  None if
            there is no such node.
        """
        return self.entries.read(name)

    def make(self, name, fill, authorized_keys):
        """Go on with a node that is recorded, until one can log in or it
        has failed; nothing if somebody else is at it.  Takes time.

        :param fill: called for the file system with the source, an empty
            directory in that of the node, the mark of the node, and its user.
        :param authorized_keys: called for the public keys that are let in.
        """
        with self.entries.lock(name) as is_mine:
            if not is_mine:
                return
            data = self.get(name)
            if data is None:
                # It has gone meanwhile, and so goes its lock.
                self.entries.remove(name)
            elif data.keys().isdisjoint(('ready', 'failure')):
                outcome = self._make(name, data, fill, authorized_keys)
                self.entries.write(name, self.get(name) | outcome)

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
            self.log.exception('Unable to make %s', name)
            return {'failure': [DriverError.failure, str(error)]}
        return {'ready': True}

    def getRoot(self, name):
        return self.entries.path(name, 'root')

    def _build(self, name, user, data, fill, authorized_keys):
        mark = self.entries.getMark(name)
        # Of an earlier attempt.
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
        """:return: whether another launcher has started a node to which one
            can log in."""
        if (not self.getRoot(name).exists()
                or self.entries.getMark(name) not in sandbox.find()):
            return False
        # The other one may not have come to this.
        self._limit(name)
        return self._await(name)

    def _boot(self, name, user):
        # The number that it had may be another's now.
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
        :return: whether one can log in; False if the node has ended.
        :raises DriverError: neither is so in time.
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
        data = self.get(name) | {'port': port}
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
            limits = self.get(name).get('limits', {})
            self.cgroups.limit(name, limits, lambda: {
                process.pid for process in sandbox.find()[mark]})

    def _checkStart(self, name):
        """
        :raises DriverError: a node that does not run was started before,
            and it would be no use to do so again.
        """
        said = self.readLog(name)
        if said and PORT_TAKEN not in said:
            raise DriverError(
                f'The image does not boot on this machine: {describe(said)}')

    def remove(self, name):
        """Remove a node with all that it has started; nothing if there is
        no such node.  Takes time."""
        while True:
            # Also what makes it.
            sandbox.kill(self.entries.getMark(name))
            with self.entries.lock(name) as is_mine:
                if is_mine:
                    if data := self.get(name):
                        # Nobody goes on if this is interrupted.
                        self.entries.write(name, data | {'failure': [
                            DriverError.failure, 'it is being removed']})
                    if self.cgroups:
                        self.cgroups.remove(name)
                    self.entries.remove(name)
                    return
            time.sleep(PAUSE)

    def readLog(self, name):
        """:return: what a node has said, as far as it is not too long."""
        try:
            # Jobs may make it grow.
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
    """:return: a port that is free now; sshd says if it is not any more."""
    with sandbox.bindPort() as sock:
        return sock.getsockname()[1]
