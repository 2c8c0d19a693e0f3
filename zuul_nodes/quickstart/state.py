"""The directory with the state of a quickstart.

    certificates/ keys/ ansible/    created once and kept
    run/                            files of one run; the next run deletes them
    quickstart.lock                 held by a running quickstart

Sockets are in a separate directory in /tmp, the target of the link
``run/sockets``: their paths are limited to 107 bytes, and an executor places
the sockets of shared ssh connections deep in its build directories.  If root
runs the quickstart, the files of nodes are in a directory in /var/tmp, the
target of the link ``run/nodes``: the users of nodes cannot access the state
if it is in root's home.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import tempfile

from zuul_nodes import nodeusers
from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart import leftovers

SOCKET_PARENT = '/tmp'
NODE_PARENT = '/var/tmp'

# Paths that zuul.conf, sshd_config and zoo.cfg can contain without quotes.
SAFE_PATH = re.compile(r'[\w/.,+@=~-]+')


def defaultDirectory():
    """:return: the default directory for the state."""
    base = os.environ.get('XDG_STATE_HOME') or '~/.local/state'
    return pathlib.Path(base).expanduser() / 'zuul-nodes' / 'quickstart'


class State:
    """The state of a quickstart, locked while it is in use.

    :param directory: the directory; created if missing.
    :ivar pathlib.Path run: the files of one run.
    :ivar pathlib.Path logs: the logs of the run's services.
    :ivar pathlib.Path lock_file: locked by a running quickstart, whose
        process id it contains.
    :ivar pathlib.Path sockets: a directory with a short path.
    :ivar pathlib.Path nodes: a directory that the users of nodes can access.
    :ivar pathlib.Path first_node: the directory of the first node.
    :ivar User user: of the first node.
    :ivar str mark: marks the processes of the run, see leftovers.py.
    """

    def __init__(self, directory):
        # The commands of services need absolute paths.
        self.directory = pathlib.Path(os.path.abspath(directory))
        self.certificates = self.directory / 'certificates'
        self.keys = self.directory / 'keys'
        self.ansible = self.directory / 'ansible'
        self.run = self.directory / 'run'
        self.places = self.run / 'places.json'
        self.lock_file = self.directory / 'quickstart.lock'
        self.logs = self.run / 'logs'
        self.sockets = None
        self.nodes = None
        self.first_node = None
        self.user = None
        self.mark = None
        self._lock = None

    def claim(self):
        """Lock the directory and begin a new run.

        Processes and files of an earlier run are removed.

        :raises UserError: the directory cannot be written, has other
            contents, or is in use.
        """
        try:
            self._takeLock()
            self._clean()
            self._begin()
        except nodeusers.ClaimError as error:
            self.release()
            raise UserError(
                f'{error}: run the quickstart as an ordinary user') from error
        except OSError as error:
            self.release()
            raise UserError(
                f'cannot write to {error.filename or self.directory} '
                f'({error.strerror}): choose another directory with '
                f'--directory') from error

    def _takeLock(self):
        if not SAFE_PATH.fullmatch(str(self.directory)):
            raise UserError(
                f'{self.directory} has characters with a special meaning in '
                f'configuration files: choose another path with --directory')
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.lock_file.exists() and any(self.directory.iterdir()):
            raise UserError(
                f'{self.directory} has other contents: choose an empty or '
                f'new directory with --directory')
        lock = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(lock, 20).decode().strip()
            os.close(lock)
            raise UserError(
                f'a quickstart is running in {self.directory} (process '
                f'{owner}): stop it, or choose another directory with '
                f'--directory') from None
        self._lock = lock
        os.truncate(lock, 0)
        os.write(lock, f'{os.getpid()}\n'.encode())

    def findOwner(self):
        """:return: the id of the process of a quickstart that runs in this
            directory, or None."""
        try:
            lock = os.open(self.lock_file, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            # It may be about to write its id.
            return int(os.read(lock, 20) or 0) or None
        finally:
            os.close(lock)
        return None

    def writePlaces(self, places):
        """:param dict places: what :meth:`readPlaces` returns."""
        self.places.write_text(json.dumps(places))

    def readPlaces(self):
        """:return: what the running quickstart has written, or None."""
        try:
            return json.loads(self.places.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def _begin(self):
        # Jobs run as another user if root runs the quickstart.
        self.run.mkdir(mode=0o700)
        self.logs.mkdir()
        self.mark = leftovers.newRun()
        (self.run / 'mark').write_text(self.mark)
        self.sockets = self._makeElsewhere('sockets', SOCKET_PARENT)
        if os.geteuid():
            self.nodes = self.run / 'nodes'
            self.nodes.mkdir()
        else:
            self.nodes = self._makeElsewhere('nodes', NODE_PARENT)
            # Other users may enter subdirectories, but not list this one.
            self.nodes.chmod(0o711)
        self.first_node = self.nodes / 'first'
        self.user = nodeusers.claim(self.first_node)

    def _makeElsewhere(self, name, parent):
        path = pathlib.Path(tempfile.mkdtemp(prefix='zuul-', dir=parent))
        (self.run / name).symlink_to(path)
        return path

    def _clean(self):
        """Remove the processes and files of the previous run."""
        with contextlib.suppress(FileNotFoundError):
            leftovers.end((self.run / 'mark').read_text())
        self._removeElsewhere()
        if self.run.exists():
            shutil.rmtree(self.run)

    def _removeElsewhere(self):
        for name in ('sockets', 'nodes'):
            link = self.run / name
            if link.is_symlink():
                shutil.rmtree(link.readlink(), ignore_errors=True)
        # Includes the users of nodes that the launcher created.
        nodeusers.forgetFree()

    def endProcesses(self):
        """Kill the remaining processes of this run."""
        if self.mark:
            leftovers.end(self.mark)

    def release(self):
        """Release the directory; its files stay for inspection."""
        if self.sockets:
            self._removeElsewhere()
            self.sockets = self.nodes = None
        if self.user:
            self.user.release()
            self.user = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
