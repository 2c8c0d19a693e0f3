"""What a job says of the node that was made from an image, by ssh."""

import getpass
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from zuul_nodes.quickstart import leftovers, ports
from zuul_nodes.quickstart.sshd import SSHD, SSHKeys

pytestmark = pytest.mark.roles


@pytest.fixture
def sshd(job, tmp_path):
    """The node of the job is reached by ssh."""
    keys = SSHKeys(tmp_path / 'keys')
    server = SSHD(tmp_path / 'sshd_config', keys, ports.freePort(),
                  {**os.environ, leftovers.VARIABLE: str(tmp_path)},
                  tmp_path / 'sshd.log')
    server.start()
    job.node = {
        'ansible_connection': 'ssh',
        'ansible_host': ports.LOOPBACK,
        'ansible_port': server.port,
        'ansible_user': getpass.getuser(),
        'ansible_ssh_private_key_file': str(keys.user_key),
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
    ({'zuul_nodes_validate_names': ['nobody.invalid']}, 'nobody.invalid'),
    ({'zuul_nodes_validate_services': ['nothing.service']},
     'nothing.service'),
    ({'zuul_nodes_validate_commands': ['true', 'echo so bad; false']},
     'so bad')])
def test_a_node_that_does_not_work(job, variables, message):
    assert message in job.fail('validate-image', **variables)


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
