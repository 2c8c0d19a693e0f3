"""What ``zuul.conf`` says of nodes on this machine.

Processes that run no nodes read it, too: nothing is looked up here.
"""

import os
import pathlib

from zuul.connection import BaseConnection

from zuul_nodes.drivers.local.sandbox import LocalError

DIRECTORY = '/var/lib/zuul/local'
# Root must not be the user of nodes unless somebody wants that: it is known
# outside of them, too, to whatever asks who is at the other end.
DEFAULT_USER = 'nobody'
KEY_TYPES = ('ssh-', 'ecdsa-', 'sk-')


class LocalConnection(BaseConnection):
    """A section ``[connection NAME]`` with ``driver=local``.

    ``authorized_keys``
        the public keys that nodes let in, or the path of a file with
        them; needed.
    ``directory``
        where images and nodes are; :data:`DIRECTORY` if not given.
    ``import_directories``
        directories from which tenants may take images, separated by
        commas; none if not given.
    ``max_instances``
        how many nodes there may be at a time.
    ``user``
        as whom nodes run, if the launcher is run by root;
        :data:`DEFAULT_USER` if not given.

    :raises Exception: an option is missing or wrong; Zuul does not start.
    """

    driver_name = 'local'

    def __init__(self, driver, connection_name, connection_config):
        super().__init__(driver, connection_name, connection_config)
        get = connection_config.get
        self.directory = pathlib.Path(get('directory', DIRECTORY))
        self.import_directories = [
            path.strip() for path in get('import_directories', '').split(',')
            if path.strip()]
        for path in (self.directory, *self.import_directories):
            if not os.path.isabs(path):
                raise self._error(f'{path} is no absolute path')
        self.authorized_keys = get('authorized_keys', '').strip()
        if not self.authorized_keys:
            raise self._error(
                'authorized_keys is missing: the public key of the executor, '
                'or the path of a file with it')
        try:
            self.max_instances = (
                int(get('max_instances')) if 'max_instances'
                in connection_config else None)
        except ValueError:
            raise self._error(
                f'max_instances is "{get("max_instances")}"; it has to be a '
                'number') from None
        self._user = get('user')

    def getUser(self):
        """:return: the name of the user who runs nodes, or None for the
            one who runs the launcher."""
        return self._user or (None if os.geteuid() else DEFAULT_USER)

    def getAuthorizedKeys(self):
        """
        :return: public keys, one in a line.
        :raises LocalError: they can't be read.
        """
        if self.authorized_keys.startswith(KEY_TYPES):
            return self.authorized_keys
        try:
            return pathlib.Path(self.authorized_keys).read_text()
        except OSError as error:
            raise LocalError(
                'Unable to read authorized_keys of the connection '
                f'"{self.connection_name}": {error}') from None

    def findImport(self, path):
        """
        :param str path: of what a tenant wants for an image.
        :return: its real path, or None if this connection does not let it
            have that, or it is not there.
        """
        path = pathlib.Path(os.path.realpath(path))
        allowed = any(
            path.is_relative_to(os.path.realpath(directory))
            for directory in self.import_directories)
        usable = allowed and (path.is_file() or path.is_dir())
        return path if usable else None

    def _error(self, message):
        return Exception(f'[connection {self.connection_name}]: {message}')
