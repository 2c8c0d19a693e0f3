"""Other users of the machine can write to /tmp, and make links there."""

import fcntl
import os
import stat

import pytest

from zuul_nodes.launcher.images.tempdir import TempDirectory

NAME = f'zuul-launchers-{os.getuid()}'


@pytest.fixture
def root(tmp_path):
    """As /tmp is."""
    tmp_path.chmod(0o1777)
    return tmp_path


def test_nobody_else_can_write_there(root):
    directory = TempDirectory(root, 'one')
    for path in (directory.path, directory.path.parent):
        info = path.stat()
        assert (stat.S_IMODE(info.st_mode), info.st_uid) == (
            0o700, os.getuid())
    assert directory.path.parent.parent == root
    directory.remove()


def test_a_directory_that_others_could_write_to_is_closed(root):
    (root / NAME).mkdir()
    (root / NAME).chmod(0o777)
    directory = TempDirectory(root, 'one')
    assert stat.S_IMODE((root / NAME).stat().st_mode) == 0o700
    directory.remove()


def takeByFile(path, tmp_path):
    path.touch()


def takeByLink(path, tmp_path):
    (tmp_path / 'elsewhere').mkdir()
    path.symlink_to(tmp_path / 'elsewhere')


def takeByDeadLink(path, tmp_path):
    path.symlink_to(tmp_path / 'nothing')


def takeByOwner(path, tmp_path):
    path.mkdir(mode=0o777)
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize('take', [
    takeByFile, takeByLink, takeByDeadLink, pytest.param(
        takeByOwner, marks=pytest.mark.skipif(
            os.getuid() != 0, reason='needs root'))])
def test_a_launcher_starts_though_its_name_is_taken(root, caplog, take):
    take(root / NAME, root)
    directory = TempDirectory(root, 'one')
    assert directory.path.is_dir()
    assert directory.path.parent.name.startswith(f'{NAME}-')
    assert stat.S_IMODE(directory.path.parent.stat().st_mode) == 0o700
    assert not (root / 'nothing').exists()
    assert not (root / 'elsewhere').exists() or not list(
        (root / 'elsewhere').iterdir())
    assert f'{root / NAME} is not a directory of the user' in caplog.text
    directory.remove()


def test_what_others_make_beside_it_does_no_harm(root):
    """Links that look like directories of launchers, and locks."""
    (root / 'precious').mkdir()
    (root / 'precious/lock').touch()
    (root / 'zuul-launcher-dead').symlink_to(root / 'precious')
    lock = root / f'zuul-launcher-{os.getuid()}.lock'
    with lock.open('w') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        TempDirectory(root, 'one').remove()
    assert (root / 'precious/lock').exists()
