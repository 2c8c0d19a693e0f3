import os
import subprocess
import sys

import pytest

from tests.fixtures.services import Site


@pytest.fixture
def runProgram(tmp_path):
    """Run Python code as a program of a given name.

    :return: a function of the name, the source, the arguments and what
        to change in the environment; gives the completed process.
    """
    def run(name, source, *arguments, **environ):
        program = tmp_path / name
        program.write_text(source)
        env = {**os.environ, **environ}
        env.pop('ZUUL_NODES_DISABLE', None)
        env.update(environ)
        return subprocess.run(
            [sys.executable, program, *arguments], env=env, timeout=120,
            capture_output=True, text=True, check=False)
    return run


@pytest.fixture
def zuulNodes():
    """Run the ``zuul-nodes`` command; gives the completed process."""
    def run(*arguments, **environ):
        return subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), 'zuul-nodes'),
             *arguments],
            env={**os.environ, **environ}, timeout=120,
            capture_output=True, text=True, check=False)
    return run


@pytest.fixture(scope='session')
def site_directory(tmp_path_factory):
    """Shared, for Ansible is installed in it once."""
    return tmp_path_factory.mktemp('site')


@pytest.fixture
def makeSite(site_directory):
    """:return: a function that makes and prepares a :class:`Site`."""
    sites = []

    def make(**kwargs):
        site = Site(site_directory, **kwargs)
        sites.append(site)
        site.prepare()
        return site
    yield make
    for site in sites:
        site.stop()
