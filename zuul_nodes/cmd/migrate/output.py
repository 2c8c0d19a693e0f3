"""Write all files, or none."""

import contextlib
import os
import pathlib
import shutil
import tempfile

from zuul_nodes.exceptions import UserError


def check(directory, force):
    """
    :param Path directory:
    :param bool force: whether existing files may be replaced.
    :raises UserError: files cannot be written there.
    """
    if os.path.lexists(directory) and not directory.is_dir():
        raise UserError(f'{directory} is not a directory; name another one '
                        f'with --output')
    try:
        is_used = directory.is_dir() and next(directory.iterdir(), None)
    except OSError as error:
        raise UserError(f'cannot read {directory}: '
                        f'{error.strerror}') from error
    if is_used and not force:
        raise UserError(f'{directory} is not empty; name another directory '
                        f'with --output, or replace its files with --force')


def write(directory, files):
    """Write files into a directory beside the final one, then rename it.

    With files that are there already, the files of other names stay.

    :param Path directory: need not exist.
    :param dict files: path -> text.
    :raises UserError: a file cannot be written; nothing has changed.
    """
    directory = pathlib.Path(os.path.abspath(directory))
    temporary = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        temporary = pathlib.Path(tempfile.mkdtemp(
            prefix=f'.{directory.name}-', dir=directory.parent))
        new = temporary / 'new'
        if directory.is_dir():
            shutil.copytree(directory, new, symlinks=True)
        else:
            new.mkdir()
        for path, text in files.items():
            _writeFile(new / path, text)
        if directory.is_dir():
            directory.rename(temporary / 'old')
        try:
            new.rename(directory)
        except OSError:
            with contextlib.suppress(OSError):
                (temporary / 'old').rename(directory)
            raise
    except OSError as error:
        raise UserError(f'cannot write {directory}: '
                        f'{error.strerror or error}') from error
    finally:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)


def _writeFile(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    # A link of an earlier directory would lead elsewhere.
    path.unlink(missing_ok=True)
    path.write_text(text, encoding='utf-8')
