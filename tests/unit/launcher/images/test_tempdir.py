import pathlib
import subprocess
import sys

from zuul_nodes.launcher.images.tempdir import TempDirectory


def test_life(tmp_path):
    directory = TempDirectory(tmp_path, 'one')
    assert directory.path.is_dir()
    directory.path.joinpath('image').touch()
    directory.remove()
    assert not directory.path.exists()


def test_the_living_keep_theirs(tmp_path):
    first = TempDirectory(tmp_path, 'one')
    first.path.joinpath('image').touch()
    TempDirectory(tmp_path, 'two')
    assert first.path.joinpath('image').exists()


def test_what_the_dead_left_is_removed(tmp_path):
    subprocess.run([sys.executable, '-c', f'''
import os, signal
from zuul_nodes.launcher.images.tempdir import TempDirectory
directory = TempDirectory({str(tmp_path)!r}, 'dead')
directory.path.joinpath('image').touch()
os.kill(os.getpid(), signal.SIGKILL)
'''], check=False)
    assert list(tmp_path.rglob('zuul-launcher-dead/image'))
    TempDirectory(tmp_path, 'two')
    assert not list(tmp_path.rglob('zuul-launcher-dead'))


def test_one_that_ends_meanwhile(tmp_path, monkeypatch):
    """It has removed its own already."""
    monkeypatch.setattr(pathlib.Path, 'glob', lambda self, pattern: [
        tmp_path / 'zuul-launcher-gone'])
    assert TempDirectory(tmp_path, 'one').path.is_dir()


def test_root_is_made(tmp_path):
    assert TempDirectory(tmp_path / 'new' / 'root', 'one').path.is_dir()
