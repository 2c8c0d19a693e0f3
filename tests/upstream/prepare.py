"""What Zuul's tests need: themselves, Ansible, a ZooKeeper."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from zuul_nodes.quickstart.ansible import Ansible
from zuul_nodes.quickstart.services import Services
from zuul_nodes.quickstart.zookeeper import JAR_DIRECTORY

INI = """\
[pytest]
python_files = test_*.py
"""


def fetchTests(directory):
    """Unpack Zuul's tests, if they are not there yet.

    :param Path directory: where they are to be; what is in it is kept for
        the next time.
    :return: the directory in which the package ``tests`` is Zuul's.
    """
    version = importlib.metadata.version('zuul')
    release = f'zuul-{version}'
    target = directory / release
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=directory) as name:
        temporary = pathlib.Path(name)
        subprocess.run(
            [sys.executable, '-m', 'pip', 'download', '-q', '--no-deps',
             '--disable-pip-version-check', '--no-binary', 'zuul',
             '-d', temporary, f'zuul=={version}'],
            check=True, timeout=600)
        archive, = temporary.glob('zuul-*.tar.gz')
        shutil.unpack_archive(archive, temporary)
        # Zuul itself is the one that is installed.
        tree = temporary / 'tree'
        tree.mkdir()
        (temporary / release / 'tests').rename(tree / 'tests')
        # Without it, pytest would take the one of our tree.
        (tree / 'pytest.ini').write_text(INI)
        tree.rename(target)
    return target


def installAnsible(directory):
    """Install what jobs run with, if it is not there yet.

    :return: the value for ``ansible_root`` in zuul.conf.
    """
    ansible = Ansible(directory / 'ansible',
                      Services(directory, dict(os.environ)))
    ansible.install()
    return ansible.directory


def getZooKeeperVersion():
    """:return: the version of Debian's ZooKeeper, as (3, 8)."""
    jar, = JAR_DIRECTORY.glob('zookeeper-[0-9]*.jar')
    version = jar.stem.partition('-')[2]
    return tuple(map(int, version.split('.')[:2]))
