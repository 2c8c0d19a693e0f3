"""The store of images."""

import hashlib
import io
import os
import subprocess
import tarfile
import uuid

import pytest

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.local import sandbox
from zuul_nodes.drivers.local.images import Images
from zuul_nodes.drivers.local.users import Users
from zuul_nodes.nodeusers import User

SSHD = ('usr/sbin/sshd', b'sshd', {})


@pytest.fixture
def images(directory):
    return Images(directory / 'local' / 'images', Users())


@pytest.fixture
def pack(tmp_path):
    """:return: a function that makes an archive of members, each a name,
        its content and attributes."""
    def pack(*members):
        path = tmp_path / 'image.tar'
        with tarfile.open(path, 'w') as archive:
            for name, content, attributes in members:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                info.mode = 0o755
                for key, value in attributes.items():
                    setattr(info, key, value)
                archive.addfile(info, io.BytesIO(content))
        return path
    return pack


@pytest.mark.parametrize(('program', 'suffix'), [
    ('gzip', '.gz'), ('xz', '.xz'), ('zstd', '.zst')])
def test_compressed(images, pack, program, suffix):
    path = pack(SSHD)
    subprocess.run([program, '-q', path], check=True, timeout=30)
    assert images.addImage(f'{path}{suffix}', 'one', {}) == 'one'
    assert (images.getRoot('one') / 'usr/sbin/sshd').read_text() == 'sshd'


def test_directory(images, tmp_path):
    (tmp_path / 'root/usr/sbin').mkdir(parents=True)
    sshd = tmp_path / 'root/usr/sbin/sshd'
    sshd.touch(mode=0o600)
    images.addImage(tmp_path / 'root', 'one', {'a': 'b'})
    copied = images.getRoot('one') / 'usr/sbin/sshd'
    assert copied.stat().st_uid == images.getRoot('one').stat().st_uid
    assert images.entries.read('one') == {'metadata': {'a': 'b'}}


def test_everything_belongs_to_the_user(images, pack):
    images.addImage(pack(
        SSHD, ('etc/secret', b'', {'mode': 0, 'uid': 7, 'gid': 7}),
        ('bin/su', b'', {'mode': 0o6755})), 'one', {})
    root = images.getRoot('one')
    owner = root.parent.stat().st_uid
    for path in ('etc/secret', 'bin/su', 'usr/sbin'):
        stat = (root / path).stat()
        assert stat.st_uid == owner
        assert stat.st_mode & 0o6600 == 0o600
    assert root.parent.stat().st_mode & 0o077 == 0


def test_devices_are_left_out(images, pack):
    images.addImage(pack(SSHD, ('dev/sda', b'', {
        'type': tarfile.BLKTYPE, 'devmajor': 8, 'devminor': 0})), 'one', {})
    assert not (images.getRoot('one') / 'dev/sda').exists()


@pytest.mark.parametrize('name', ['../escaped', '/../escaped'])
def test_names_that_lead_out(images, pack, name):
    with pytest.raises(DriverError, match=r"Member name contains '\.\.'"):
        images.addImage(pack(SSHD, (name, b'', {})), 'one', {})
    assert not images.entries.names()
    assert not os.listdir(images.entries.directory)


def test_absolute_names_are_those_in_the_image(images, pack, tmp_path):
    images.addImage(pack(SSHD, (f'{tmp_path}/file', b'', {})), 'one', {})
    assert not (tmp_path / 'file').exists()
    assert (images.getRoot('one') / str(tmp_path)[1:] / 'file').exists()


@pytest.mark.parametrize('kind', [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_that_lead_out(images, pack, directory, kind):
    (directory / 'file').write_text('old')
    (directory / 'file').chmod(0o666)
    directory.chmod(0o777)
    path = pack(
        SSHD,
        ('link', b'', {'type': kind, 'linkname': f'{directory}/file'}),
        ('link', b'new', {}),
        ('there', b'', {'type': tarfile.SYMTYPE, 'linkname': f'{directory}'}),
        ('there/file', b'new', {}), ('there/other', b'new', {}))
    try:
        images.addImage(path, 'one', {})
    except DriverError:
        assert not images.exists('one')
    assert (directory / 'file').read_text() == 'old'
    assert not (directory / 'other').exists()


@pytest.mark.parametrize('content', [b'', b'no archive' * 1000])
def test_no_image(images, tmp_path, content):
    path = tmp_path / 'image'
    path.write_bytes(content)
    with pytest.raises(DriverError):
        images.addImage(path, 'one', {})
    assert not images.entries.names()


def test_no_sshd(images, pack):
    with pytest.raises(DriverError, match='no /usr/sbin/sshd'):
        images.addImage(pack(('bin/sh', b'', {})), 'one', {})


@pytest.mark.parametrize('name', ['md5', 'sha256'])
def test_checksum(images, pack, name):
    path = pack(SSHD)
    right = hashlib.new(name, path.read_bytes()).hexdigest().upper()
    with pytest.raises(DriverError, match=f'The {name} of '):
        images.addImage(path, 'one', {}, checksums=[
            ('sha512', None), (name, right), (name, '1234')])
    # It is that of what was compressed.
    subprocess.run(['gzip', '-q', path], check=True, timeout=30)
    images.addImage(f'{path}.gz', 'one', {}, checksums=[
        (name, right), ('sha512', None)])
    assert images.exists('one')


@pytest.mark.parametrize('seconds', [0.001, 0.005, 0.02, 0.1])
def test_a_program_that_takes_too_long_is_ended(images, directory, seconds):
    """However far it is by then."""
    # All processes with a mark are ended, those of other tests as well.
    mark = uuid.uuid4().hex
    with pytest.raises(DriverError, match=f'not ended in {seconds} seconds'):
        images.sandbox.run(mark, ['sleep', '1000'], seconds, directory)
    assert not sandbox.find()[mark]


def test_what_is_no_file_is_not_opened(images, tmp_path):
    # Somebody would wait for ever for who reads it.
    os.mkfifo(tmp_path / 'fifo')
    with pytest.raises(DriverError, match='neither a file nor a directory'):
        images.addImage(tmp_path / 'fifo', 'one', {})


def test_interrupted(images, pack):
    # What somebody who was killed has left.
    images.entries.prepare()
    images.entries.write('one', {'metadata': {}})
    images.entries.makeDirectory('one', User())
    (images.entries.path('one') / 'new').mkdir()
    assert not images.exists('one')
    images.addImage(pack(SSHD), 'one', {})
    assert images.exists('one')
    images.removeImage('one')
    images.removeImage('one')
    assert not os.listdir(images.entries.directory)


def test_path(images, pack):
    path = pack(SSHD)
    first = images.addPath(path)
    made = images.getRoot(first).stat().st_ino
    assert images.addPath(path) == first
    assert images.getRoot(first).stat().st_ino == made
    path = pack(SSHD, ('etc/new', b'', {}))
    second = images.addPath(path)
    assert images.entries.names() == [second]
    assert (images.getRoot(second) / 'etc/new').exists()


def test_copies(images, pack, directory):
    images.addImage(pack(SSHD, ('etc/file', b'old', {}), (
        'etc/link', b'', {'type': tarfile.SYMTYPE, 'linkname': '/etc/passwd'}
        )), 'one', {})
    images.addCopy(images.getRoot('one'), 'two', {})
    copied = images.getRoot('two') / 'etc/file'
    copied.write_text('new')
    assert (images.getRoot('one') / 'etc/file').read_text() == 'old'
    assert os.readlink(images.getRoot('two') / 'etc/link') == '/etc/passwd'
    with pytest.raises(DriverError, match=r'Unable to copy .*three'):
        images.addCopy(images.getRoot('three'), 'four', {})
    with pytest.raises(DriverError, match='no image "three"'):
        images.copyTo('three', directory, 'mark', User())


@pytest.mark.parametrize('name', ['', '..', '../one', 'a/b', '.hidden'])
def test_names(images, name):
    with pytest.raises(DriverError, match='not a valid name'):
        images.removeImage(name)
