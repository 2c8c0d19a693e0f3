"""The Ansible that the executor runs jobs with.

``zuul-manage-ansible`` would install every supported release with the
libraries of all clouds: 1.6 GB.  The jobs here need ansible-core and what
Zuul's own plugins import: 70 MB.
"""

import pathlib
import shutil

# An executor looks for each release that it supports, by its number.
RELEASE = '11'
OTHER_RELEASES = ('9',)
REQUIREMENTS = ('ansible-core>=2.18,<2.19', 'google-re2', 'voluptuous')

# Jobs run inside bubblewrap, where only the system's directories are seen:
# no other Python will do.
PYTHON = '/usr/bin/python3'

INSTALL_TIMEOUT = 300


class Ansible:
    """A virtual environment with Ansible.

    :param directory: the executor's ansible_root; made if missing.
    :param Services services: starts what installs it.
    """

    def __init__(self, directory, services):
        self.directory = pathlib.Path(directory)
        self.services = services
        self.venv = self.directory / RELEASE
        # Written last: without it the environment is half made.
        self._complete = self.venv / 'complete'

    @property
    def installed(self):
        try:
            return self._complete.read_text() == '\n'.join(REQUIREMENTS)
        except OSError:
            return False

    def install(self):
        """Make the environment, from scratch if it is not complete.

        :raises Failure: it could not be made.
        """
        if self.installed:
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self._run([PYTHON, '-m', 'venv', self.venv])
        self._run([self.venv / 'bin' / 'pip', 'install', *REQUIREMENTS])
        for release in OTHER_RELEASES:
            (self.directory / release).symlink_to(RELEASE)
        self._complete.write_text('\n'.join(REQUIREMENTS))

    def _run(self, command):
        process = self.services.start('ansible', command)
        process.finish(INSTALL_TIMEOUT)
        del self.services.processes['ansible']
