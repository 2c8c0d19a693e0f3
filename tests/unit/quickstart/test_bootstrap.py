"""tools/bootstrap with stand-ins for everything that changes a machine."""

import os
import pathlib
import shutil
import subprocess

import pytest

from zuul_nodes.quickstart.quickstart import Quickstart

ROOT = pathlib.Path(__file__).parents[3]
TOOLS = ('dirname', 'env', 'mktemp', 'rm', 'sh', 'tail')


class Machine:
    """A checkout and a PATH that has only what is put there."""

    def __init__(self, directory):
        self.checkout = directory / 'checkout'
        self.bin = directory / 'bin'
        self.calls = directory / 'calls'
        self.bin.mkdir()
        shutil.copytree(ROOT / 'tools', self.checkout / 'tools')
        shutil.copy(ROOT / 'bindep.txt', self.checkout)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), self.bin / tool)
        self.bindep('', 0)

    def program(self, path, script):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o755)

    def user(self, uid):
        self.program(self.bin / 'id', f'echo {uid}')

    def aptGet(self, status=0):
        self.program(self.bin / 'apt-get',
                     f'echo "$@" >>{self.calls}; echo it says so; '
                     f'exit {status}')

    def bindep(self, missing, status):
        self.program(self.checkout / '.venv' / 'bin' / 'bindep',
                     f'printf "{missing}"; exit {status}')

    def bootstrap(self, **environ):
        return subprocess.run(
            [self.checkout / 'tools' / 'bootstrap', 'quickstart'],
            env={'PATH': str(self.bin)} | environ, capture_output=True,
            stdin=subprocess.DEVNULL, text=True, check=False)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_nothing_is_missing(machine):
    completed = machine.bootstrap()
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == ''


def test_neither_root_nor_sudo(machine):
    machine.user(1000)
    machine.aptGet()
    machine.bindep('git\\nbubblewrap\\n', 1)
    completed = machine.bootstrap()
    assert completed.returncode == 1
    line, = completed.stderr.splitlines()
    assert 'no root and no sudo' in line
    assert line.endswith('apt-get install --no-install-recommends '
                         'git bubblewrap')
    assert not machine.calls.exists()


def test_root_installs_what_is_missing(machine):
    machine.user(0)
    machine.aptGet()
    machine.bindep('git\\nbubblewrap\\n', 1)
    completed = machine.bootstrap()
    assert completed.returncode == 0, completed.stderr
    update, install = machine.calls.read_text().splitlines()
    assert update.endswith('update')
    assert install.endswith('install git bubblewrap')


def test_sudo_without_password(machine):
    machine.user(1000)
    machine.aptGet()
    machine.program(machine.bin / 'sudo', '[ "$1" != -n ] || shift; "$@"')
    os.symlink('/bin/true', machine.bin / 'true')
    machine.bindep('git\\n', 1)
    completed = machine.bootstrap()
    assert completed.returncode == 0, completed.stderr
    assert machine.calls.read_text().endswith('install git\n')


def test_sudo_that_wants_a_password_and_nobody_to_ask(machine):
    machine.user(1000)
    machine.program(machine.bin / 'sudo', 'exit 1')
    machine.bindep('git\\n', 1)
    completed = machine.bootstrap()
    assert completed.returncode == 1
    assert 'no root and no sudo' in completed.stderr


def test_apt_get_fails(machine):
    machine.user(0)
    machine.aptGet(100)
    machine.bindep('git\\n', 1)
    completed = machine.bootstrap()
    assert completed.returncode == 1
    *output, last = completed.stderr.splitlines()
    assert output == ['it says so']
    assert 'apt-get failed; all of its output is in ' in last
    pathlib.Path(last.rpartition(' ')[2]).unlink()


def test_bindep_fails(machine):
    machine.bindep('', 2)
    assert machine.bootstrap().returncode != 0


@pytest.mark.parametrize('script, message', [
    ('[ "$1" != --version ] || echo Python 3.9.2; [ "$1" = --version ] || '
     'case "$2" in *version_info*) exit 1;; esac',
     'Python 3.9.2 is too old'),
    (None, 'is not there'),
])
def test_an_unfit_python(machine, tmp_path, script, message):
    python = tmp_path / 'python'
    if script:
        machine.program(python, script)
    completed = machine.bootstrap(PYTHON=str(python))
    assert completed.returncode == 1
    line, = completed.stderr.splitlines()
    assert message in line
    assert 'Python 3.11' in line


def test_the_packages_by_profile():
    def packages(*profiles):
        return set(subprocess.run(
            [Quickstart.program('bindep'), '--list_all', 'newline',
             *profiles],
            cwd=ROOT, check=True, capture_output=True,
            text=True).stdout.split())
    assert packages() < packages('quickstart') < packages('test')
