import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import zuul.ansible

ROOT = pathlib.Path(__file__).parents[3]
ACTIONS = pathlib.Path(zuul.ansible.__file__).parent / '11/action'
TIMEOUT = 900


class Job:
    """Playbooks, run as an executor does, with this machine for a node.

    :param directory: of the job.
    :param dict variables: of the job.
    :ivar Path home: what programs on the node take for their home directory.
    """

    def __init__(self, directory, variables):
        self.directory = pathlib.Path(directory)
        self.variables = variables
        self.node = {'ansible_connection': 'local',
                     'ansible_python_interpreter': sys.executable}
        self.results = self.directory / 'work/results.json'
        self.results.parent.mkdir(parents=True)
        self.home = self.directory / 'home'
        self.home.mkdir()
        self.results.touch()
        actions = self.directory / 'actions'
        actions.mkdir()
        # Zuul has other plugins there that need an executor.
        shutil.copy(ACTIONS / 'zuul_return.py', actions)
        (self.directory / 'ansible.cfg').write_text(
            f'[defaults]\nroles_path = {ROOT}/roles\n'
            f'action_plugins = {actions}\n'
            f'local_tmp = {self.directory}/tmp\nnocolor = true\n'
            # Not in that home directory: the path of a socket is short.
            '[ssh_connection]\n'
            f'control_path_dir = {os.path.expanduser("~/.ansible/cp")}\n')

    def run(self, name, secret=None, nodes=True, **variables):
        """
        :param name: of a directory of playbooks; or the path of one.
        :param dict secret: the credentials.
        :param bool nodes: whether the job has any.
        :param dict variables: more of the job's.
        :return: the completed process.
        """
        inventory = self.directory / 'inventory.json'
        inventory.write_text(json.dumps({'all': {
            'hosts': {'node': self.node} if nodes else {},
            'vars': self.variables | variables}}))
        arguments = [
            pathlib.Path(sys.executable).parent / 'ansible-playbook', '-v',
            '-i', inventory, name if isinstance(name, pathlib.Path)
            else ROOT / f'playbooks/{name}/run.yaml']
        if secret is not None:
            path = self.directory / 'secret.json'
            path.write_text(json.dumps({'zuul_nodes_credentials': secret}))
            arguments += ['-e', f'@{path}']
        return subprocess.run(
            arguments, capture_output=True, text=True, timeout=TIMEOUT,
            check=False, cwd=self.directory, env={
                **os.environ, 'LC_ALL': 'C.UTF-8', 'HOME': str(self.home),
                'ZUUL_JOBDIR': str(self.directory),
                'ANSIBLE_CONFIG': str(self.directory / 'ansible.cfg'),
                'ANSIBLE_LOCALHOST_WARNING': 'false'})

    def succeed(self, *args, **kwargs):
        """Run a playbook that must not fail; takes and returns the same."""
        process = self.run(*args, **kwargs)
        assert process.returncode == 0, process.stdout + process.stderr
        return process

    def fail(self, *args, **kwargs):
        """:return: what a playbook says that must fail."""
        process = self.run(*args, **kwargs)
        assert process.returncode == 2, process.stdout + process.stderr
        return process.stdout

    def getArtifacts(self):
        """:return: list of what the job has returned."""
        return self.getReturned().get('artifacts', [])

    def getReturned(self):
        """:return: dict of what the job has told Zuul."""
        text = self.results.read_text()
        return json.loads(text)['data']['zuul'] if text else {}

    def getFiles(self):
        """:return: what is in the directory of the build on the node."""
        path = (pathlib.Path(self.variables['zuul_nodes_directory'])
                / 'builds' / self.variables['zuul']['build'])
        return sorted(each.name for each in path.iterdir()
                      ) if path.exists() else []


@pytest.fixture(scope='session')
def virtualenv(tmp_path_factory):
    """Shared, for everything is installed in it once."""
    return tmp_path_factory.mktemp('virtualenv') / 'venv'


@pytest.fixture
def makeJob(tmp_path, virtualenv):
    """:return: a function that makes a job of a build.  It needs no system
        packages but those of bindep.txt; all jobs have one node."""
    return lambda build='b1d': Job(tmp_path / build, {
        'zuul': {'build': build, 'image_build_name': 'debian'},
        'zuul_nodes_directory': str(tmp_path / 'node'),
        'zuul_nodes_virtualenv': str(virtualenv),
        'zuul_nodes_elements': [],
        'zuul_nodes_storage': 'none',
        'zuul_nodes_virtualenv_packages': [],
        'zuul_nodes_dib_packages': [],
        'zuul_nodes_convert_packages': [],
    })


@pytest.fixture
def job(makeJob):
    return makeJob()
