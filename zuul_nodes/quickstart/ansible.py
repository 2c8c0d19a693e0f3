"""The Ansible with which the executor runs jobs.

``zuul-manage-ansible`` would install every supported release with the
libraries of all clouds: 1.6 GB.  The jobs of the quickstart need only
ansible-core and the imports of Zuul's own plugins: 70 MB.
"""

import pathlib
import shutil

# An executor expects a directory for each release that it supports.
RELEASE = '11'
OTHER_RELEASES = ('9',)
REQUIREMENTS = ('ansible-core>=2.18,<2.19', 'google-re2', 'voluptuous')

# Jobs run inside bubblewrap, which shows them only the system's directories,
# so they need the system's Python.
PYTHON = '/usr/bin/python3'

INSTALL_TIMEOUT = 300


class Ansible:
    """A virtual environment with Ansible.

    :param directory: the executor's ansible_root; created if missing.
    :param Services services: run the installation.
    """

    def __init__(self, directory, services):
        self.directory = pathlib.Path(directory)
        self.services = services
        self.venv = self.directory / RELEASE
        # Written last, so that an incomplete environment is recognized.
        self._complete = self.venv / 'complete'

    @property
    def installed(self):
        try:
            return self._complete.read_text() == '\n'.join(REQUIREMENTS)
        except OSError:
            return False

    def install(self):
        """Create the environment, from scratch unless it is complete.

        :raises Failure: the installation failed.
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
