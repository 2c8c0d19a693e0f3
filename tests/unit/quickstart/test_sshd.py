"""What a session on the first node finds."""

import os
import subprocess

import pytest

from zuul_nodes.quickstart import leftovers, ports
from zuul_nodes.quickstart.sshd import SSHD, SSHKeys

MARK = 'a-run'


@pytest.fixture
def node(tmp_path):
    node = SSHD(tmp_path / 'sshd_config', SSHKeys(tmp_path / 'keys'),
                ports.freePort(), {**os.environ, leftovers.VARIABLE: MARK},
                tmp_path / 'log')
    node.start()
    yield node
    node.stop()


def say(node, command):
    """:return: what a command says in a session."""
    return subprocess.run(
        ['ssh', '-F', 'none', '-o', 'StrictHostKeyChecking=no',
         '-o', 'UserKnownHostsFile=/dev/null', '-p', str(node.port),
         '-i', node.keys.user_key, '127.0.0.1', command],
        stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


def test_it_has_the_mark(node):
    assert say(node, f'echo ${leftovers.VARIABLE}') == f'{MARK}\n'


def test_it_has_a_home_of_its_own(node):
    """A shell that begins reads nothing of the user's."""
    assert say(node, 'echo ~ $HOME; ls -A ~') == f'{node.home} {node.home}\n'
