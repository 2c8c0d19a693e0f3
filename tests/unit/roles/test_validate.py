"""What a job says of the node that was made from an image, by ssh."""

import getpass
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from tests.fixtures.ending import endWith
from tests.fixtures.rootfs import PACKAGES, PYTHON, TOOLS, makeArchive
from tests.fixtures.sshservers import SSHServer
from tests.unit.drivers.local.sites import Site
from zuul_nodes.quickstart import ports

pytestmark = pytest.mark.roles


@pytest.fixture
def sshd(job, tmp_path):
    """The node of the job is reached by ssh."""
    server = SSHServer(tmp_path / 'host')
    server.start()
    job.node = {
        'ansible_connection': 'ssh',
        'ansible_host': ports.LOOPBACK,
        'ansible_port': server.port,
        'ansible_user': getpass.getuser(),
        'ansible_ssh_private_key_file': str(server.keys.user_key),
        'ansible_ssh_common_args': '-o StrictHostKeyChecking=no '
        '-o UserKnownHostsFile=/dev/null -o ControlPersist=30',
        'ansible_python_interpreter': sys.executable}
    yield server
    server.stop()


def test_a_node_that_works(job, sshd, tmp_path):
    job.succeed(
        'validate-image', zuul_nodes_validate_disk=100,
        zuul_nodes_validate_memory=100,
        zuul_nodes_validate_commands=[
            f'echo "$SSH_CONNECTION" | tee {tmp_path}/seen'])
    assert f' {sshd.port}' in (tmp_path / 'seen').read_text()


@pytest.mark.parametrize('variables, message', [
    ({'zuul_nodes_validate_disk': 1 << 30}, 'MiB, of which'),
    ({'zuul_nodes_validate_free': 1 << 30}, 'are free; wanted are'),
    ({'zuul_nodes_validate_memory': 1 << 30}, 'MiB of memory; wanted are'),
    ({'zuul_nodes_validate_clock': -1}, 'seconds ahead'),
    ({'zuul_nodes_validate_names': ['localhost', 'a.invalid', 'b.invalid']},
     'does not resolve a.invalid, b.invalid, which'),
    ({'zuul_nodes_validate_services': ['nothing.service']},
     'nothing.service'),
    ({'zuul_nodes_validate_commands': ['true', 'echo so bad; false']},
     'so bad')])
def test_a_node_that_does_not_work(job, variables, message):
    assert message in job.fail('validate-image', **variables)


def test_a_node_of_the_driver_local(job, request, sshd):
    """All that the role looks at by default is right there."""
    # Any user can reach it, and not what pytest has.
    directory = pathlib.Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(directory))
    directory.chmod(0o755)
    archive = makeArchive(directory / 'root.tar', PACKAGES + PYTHON + TOOLS)
    site = endWith(request, Site(
        {'directory': str(directory / 'local'),
         'authorized_keys': str(sshd.keys.authorized_keys),
         'import_directories': str(directory)}, image_path=str(archive)))
    node = site.makeNode('1' * 32)
    instance = site.create(node)
    request.addfinalizer(lambda: site.delete(node))
    del job.node['ansible_python_interpreter']
    job.node |= {'ansible_port': instance.connection_port,
                 'ansible_user': instance.username}
    job.succeed('validate-image')


def test_no_second_login(job, sshd, tmp_path):
    """The connection that is there outlives the server."""
    path = tmp_path / 'ssh'
    subprocess.run(
        ['ssh', '-fN', '-M', '-o', f'ControlPath={path}',
         *shlex.split(job.node['ansible_ssh_common_args']),
         '-i', sshd.keys.user_key, '-p', str(sshd.port), ports.LOOPBACK],
        check=True, timeout=60, stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    os.kill(sshd.process.pid, signal.SIGKILL)
    job.node['ansible_control_path'] = str(path)
    output = job.fail('validate-image', zuul_nodes_validate_timeout=2)
    *_, last = re.findall(r'TASK \[(.*)\] \*', output)
    assert last.endswith('See that the node lets us in again')
