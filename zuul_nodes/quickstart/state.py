"""The directory that a quickstart lives in.

    certificates/ keys/ ansible/    kept: made once
    run/                            everything of one run: wiped by the next
    quickstart.lock                 held while a quickstart works here

Sockets are elsewhere, in a directory of /tmp that ``run/sockets`` points to:
their paths are limited to 107 bytes, and an executor puts the sockets of
shared ssh connections deep into its build directories.  So is what nodes
have if root runs the quickstart, in a directory of /var/tmp that
``run/nodes`` points to: their users need not reach the state, which may be in
root's home.
"""

import contextlib
import fcntl
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

# What zuul.conf, sshd_config and zoo.cfg can all name without quotes.
SAFE_PATH = re.compile(r'[\w/.,+@=~-]+')


def defaultDirectory():
    """:return: where the state lives unless told otherwise."""
    base = os.environ.get('XDG_STATE_HOME') or '~/.local/state'
    return pathlib.Path(base).expanduser() / 'zuul-nodes' / 'quickstart'


class State:
    """:param directory: the directory; made if missing.
    :ivar pathlib.Path run: what belongs to one run.
    :ivar pathlib.Path logs: the log of each service of the run.
    :ivar pathlib.Path sockets: a directory with a short path.
    :ivar pathlib.Path nodes: a directory that the users of nodes get to.
    :ivar pathlib.Path first_node: that of the first node.
    :ivar User user: of the first node.
    :ivar str mark: marks the processes of the run, see leftovers.py.
    """

    def __init__(self, directory):
        # The services are started with absolute paths.
        self.directory = pathlib.Path(os.path.abspath(directory))
        self.certificates = self.directory / 'certificates'
        self.keys = self.directory / 'keys'
        self.ansible = self.directory / 'ansible'
        self.run = self.directory / 'run'
        self.logs = self.run / 'logs'
        self.sockets = None
        self.nodes = None
        self.first_node = None
        self.user = None
        self.mark = None
        self._lock = None

    def claim(self):
        """Make sure that the directory is ours alone, and begin a new run.

        What an earlier run left, processes and files, is gone afterwards.

        :raises UserError: it cannot be written, is something else's, or is
            in use.
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
                f'({error.strerror}): choose another place with '
                f'--directory') from error

    def _takeLock(self):
        if not SAFE_PATH.fullmatch(str(self.directory)):
            raise UserError(
                f'{self.directory} has characters that configuration files '
                f'give a meaning to: choose a plainer path with --directory')
        lock_file = self.directory / 'quickstart.lock'
        self.directory.mkdir(parents=True, exist_ok=True)
        if not lock_file.exists() and any(self.directory.iterdir()):
            raise UserError(
                f'{self.directory} holds something else: choose an empty or '
                f'a new directory with --directory')
        lock = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(lock, 20).decode().strip()
            os.close(lock)
            raise UserError(
                f'a quickstart is running in {self.directory} (process '
                f'{owner}): stop it, or choose another place with '
                f'--directory') from None
        self._lock = lock
        os.truncate(lock, 0)
        os.write(lock, f'{os.getpid()}\n'.encode())

    def _begin(self):
        # Jobs are another user if root runs this.
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
            # Others may pass, but look at nothing.
            self.nodes.chmod(0o711)
        self.first_node = self.nodes / 'first'
        self.user = nodeusers.claim(self.first_node)

    def _makeElsewhere(self, name, parent):
        path = pathlib.Path(tempfile.mkdtemp(prefix='zuul-', dir=parent))
        (self.run / name).symlink_to(path)
        return path

    def _clean(self):
        """End and remove what the previous run left."""
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
        # Those of nodes that the launcher made, too.
        nodeusers.forgetFree()

    def endProcesses(self):
        """Kill what is left of the processes of this run."""
        if self.mark:
            leftovers.end(self.mark)

    def release(self):
        """Let others have the directory; its files stay to be looked at."""
        if self.sockets:
            self._removeElsewhere()
            self.sockets = self.nodes = None
        if self.user:
            self.user.release()
            self.user = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
