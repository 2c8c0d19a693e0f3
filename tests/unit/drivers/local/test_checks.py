"""What the machine is asked about a configuration; nothing is changed."""

import os
import pathlib

import pytest

from zuul_nodes.drivers.local.machines import Machines


def ask(site):
    """:return: what it is about -> what is wrong."""
    return {check.name: said for check in site.provider.getChecks()
            if (said := check.ask())}


def listAll(directory):
    return sorted(map(str, pathlib.Path(directory).rglob('*')))


def test_nothing_is_wrong_and_nothing_is_made(site, directory):
    before = listAll(directory)
    assert ask(site) == {}
    assert listAll(directory) == before
    assert not (directory / 'local').exists()


def test_nodes_of_others_are_left_alone(site, monkeypatch):
    """One that is being made is not gone on with."""
    monkeypatch.setattr(Machines, 'makeNode', None)
    entries = site.adapter.machines.entries
    entries.prepare()
    entries.write('np1', {'metadata': {}, 'username': 'zuul'})
    assert ask(site) == {}
    assert site.adapter.tasks == {}


@pytest.mark.parametrize(('path', 'said'), [
    ('/nowhere', 'which does not exist or is not in the import_'),
    ('/etc/passwd', 'which does not exist or is not in the import_')])
def test_image(makeSite, path, said):
    assert said in ask(makeSite(image_path=path))[path]


def test_keys(makeSite, options):
    options['authorized_keys'] = '/nowhere'
    assert 'Unable to read' in ask(makeSite())['authorized_keys']


def test_directory(makeSite, options, directory):
    (directory / 'file').write_text('')
    options['directory'] = os.fspath(directory / 'file/local')
    found = ask(makeSite())
    assert found[options['directory']] == (
        f'{directory}/file is not a directory')
