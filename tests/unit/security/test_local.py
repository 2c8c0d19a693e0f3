"""Images and nodes of the driver "local" cannot reach the machine."""

import ctypes
import io
import json
import os
import subprocess
import tarfile

import pytest

from tests.fixtures.compressed import makeHugeXz
from tests.fixtures.rootfs import PACKAGES, makeArchive
from tests.unit.drivers.local.sites import ssh
from zuul_nodes.drivers import DriverError, PermanentError
from zuul_nodes.drivers.local import LocalDriver, seccomp
from zuul_nodes.drivers.local.images import Images
from zuul_nodes.drivers.local.sandbox import Sandbox
from zuul_nodes.drivers.local.sources import openSource
from zuul_nodes.drivers.local.users import Users

NODE = '0123456789abcdef0123456789abcdef'
NAME = f'np{NODE}'
UPLOAD = 'fedcba9876543210fedcba9876543210'
LIMIT = 1 << 20
SSHD = ('usr/sbin/sshd', b'sshd', {})


@pytest.fixture
def images(directory):
    return Images(directory / 'local/images', Users(), LIMIT)


@pytest.fixture
def pack(tmp_path):
    """:return: a function that makes an archive of members, each a name,
        its content and attributes."""
    def pack(*members, mode='w'):
        path = tmp_path / 'image'
        with tarfile.open(path, mode) as archive:
            for name, content, attributes in (SSHD, *members):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                for key, value in attributes.items():
                    setattr(info, key, value)
                archive.addfile(info, io.BytesIO(content))
        return path
    return pack


# How large an image may be

def assertTooLarge(images, function, *args):
    with pytest.raises(DriverError, match='image_size_limit') as caught:
        function(*args)
    assert caught.value.failure == 'permanent'
    assert not images.entries.names()
    assert not os.listdir(images.entries.directory)


@pytest.mark.parametrize('mode', ['w', 'w:gz', 'w:xz'])
def test_a_job_cannot_unpack_more_than_the_limit(images, pack, mode):
    path = pack(('zeros', bytes(10 * LIMIT), {}), mode=mode)
    assertTooLarge(images, images.addImage, path, 'one', {})


def test_what_is_behind_the_end_of_an_archive_counts(images, pack):
    path = pack()
    with open(path, 'ab') as file:
        file.truncate(10 * LIMIT)
    assertTooLarge(images, images.addImage, path, 'one', {})


def test_many_tiny_files_count_as_what_they_take(images, pack):
    """Half a mebibyte of archive, and four of blocks and inodes."""
    path = pack(*((f'{number}', b'', {}) for number in range(1000)))
    assert path.stat().st_size < LIMIT
    assertTooLarge(images, images.addImage, path, 'one', {})


def test_holes_of_a_file_count_nothing(images, tmp_path):
    root = tmp_path / 'root'
    (root / 'usr/sbin').mkdir(parents=True)
    (root / 'usr/sbin/sshd').touch()
    with open(root / 'sparse', 'wb') as file:
        file.truncate(1 << 40)
    archive = tmp_path / 'image'
    subprocess.run(['tar', '-c', '--sparse', '-f', archive, '-C', root, '.'],
                   check=True)
    # Of an archive, and of a directory.
    for source in (archive, root):
        images.addImage(source, 'one', {})
        stat = (images.getRoot('one') / 'sparse').stat()
        assert (stat.st_size, stat.st_blocks * 512 < LIMIT) == (1 << 40, True)


def test_a_file_with_several_names_counts_once(images, pack):
    links = [(f'link{number}', b'', {
        'type': tarfile.LNKTYPE, 'linkname': 'file'}) for number in range(5)]
    images.addImage(pack(('file', bytes(LIMIT // 2), {}), *links), 'one', {})
    assert (images.getRoot('one') / 'link4').stat().st_nlink == 6


def test_a_directory_has_the_limit_too(images, tmp_path):
    (tmp_path / 'file').write_bytes(bytes(2 * LIMIT))
    assertTooLarge(images, images.addImage, tmp_path, 'one', {})


def test_a_snapshot_has_the_limit_too(images, directory):
    root = directory / 'root'
    (root / 'usr/sbin').mkdir(parents=True)
    (root / 'usr/sbin/sshd').write_bytes(bytes(2 * LIMIT))
    assertTooLarge(images, images.addCopy, root, 'one', {})


def test_a_node_has_the_limit_of_the_launcher(makeLocalSite, monkeypatch):
    monkeypatch.setattr(LocalDriver, 'image_size_limit', LIMIT)
    site = makeLocalSite()
    with pytest.raises(PermanentError, match='image_size_limit'):
        site.create(site.makeNode(NODE))


def test_a_dictionary_cannot_take_all_memory(images, tmp_path):
    (tmp_path / 'image.tar').write_bytes(makeHugeXz())
    with pytest.raises(PermanentError, match='in 256 MiB of memory'):
        images.addImage(tmp_path / 'image.tar', 'one', {})


def test_what_tar_says_of_a_million_devices_takes_no_memory(images, pack):
    device = {'type': tarfile.CHRTYPE, 'devmajor': 1, 'devminor': 3}
    path = pack(*((f'{number}', b'', device) for number in range(1500)))
    images.addImage(path, 'one', {})
    code, said = images.sandbox.run(
        'mark', ['sh', '-c', 'yes | head -n 100000; yes | head -c 9999999 | '
                 'tr -d "\\n"'], 10, images.entries.directory)
    assert (code, len(said) < 100000) == (0, True)


# What a path stands for

@pytest.fixture
def outside(directory):
    """:return: the path of an archive that is not for tenants."""
    path = directory / 'outside'
    with tarfile.open(path, 'w') as archive:
        for name in ('usr/sbin/sshd', 'secret'):
            archive.addfile(tarfile.TarInfo(name))
    return path


@pytest.fixture
def inside(directory, archive):
    """:return: a link that leads to an archive which is for tenants."""
    path = directory / 'import/image'
    path.parent.mkdir()
    path.symlink_to(archive)
    return path


def swap(path, target):
    new = path.with_name('new')
    new.symlink_to(target)
    new.rename(path)


def test_a_path_cannot_be_swapped_before_a_node_is_made(
        makeLocalSite, inside, outside):
    adapter = makeLocalSite(image_path=str(inside)).adapter
    adapter.machines.addNode(NAME, {}, 'zuul', {'path': str(inside)}, {})
    swap(inside, outside)
    adapter._launch(NAME)
    failure, message = adapter.machines.getNode(NAME)['failure']
    assert (failure, f'{inside} is not in ' in message) == (
        'permanent', True)
    assert not adapter.images.entries.names()


def test_a_path_cannot_be_swapped_before_it_is_imported(
        makeLocalSite, inside, outside):
    site = makeLocalSite(type='zuul')
    add = site.images.addImage

    def addLate(*args):
        swap(inside, outside)
        return add(*args)

    site.images.addImage = addLate
    job = site.provider.getImageImportJob(
        f'file://{inside}', site.provider.images['debian'], 'debian', 'tar',
        {'zuul_upload_uuid': UPLOAD}, None, None)
    with pytest.raises(PermanentError, match='is not in'):
        job.run()
    assert not site.images.entries.names()


@pytest.mark.parametrize('kind', ['file', 'directory'])
def test_a_path_cannot_be_swapped_while_it_is_opened(
        directory, monkeypatch, kind):
    """It leads out of the directory at that moment only."""
    allowed = directory / 'import'
    allowed.mkdir()
    targets = [allowed / 'target', directory / 'target']
    for target in targets:
        target.mkdir() if kind == 'directory' else target.touch()
    path = allowed / 'image'
    path.symlink_to(targets[0])
    openAny = os.open

    def openLate(name, *args):
        if name != path:
            return openAny(name, *args)
        swap(path, targets[1])
        try:
            return openAny(name, *args)
        finally:
            swap(path, targets[0])

    with openSource(path, [str(allowed)]) as source:
        assert source.stat.st_ino == targets[0].stat().st_ino
    monkeypatch.setattr(os, 'open', openLate)
    with pytest.raises(PermanentError, match='is not in'), \
            openSource(path, [str(allowed)]):
        pass


def test_a_snapshot_cannot_be_a_link(makeLocalSite, directory):
    """Its directory belongs to the user who runs nodes."""
    site = makeLocalSite(type='zuul')
    root = site.images.getRoot('snapshot-one')
    root.parent.mkdir(parents=True)
    root.symlink_to(directory)
    job = site.provider.getImageImportJob(
        'local-snapshot:snapshot-one', site.provider.images['debian'],
        'debian', 'snapshot', {'zuul_upload_uuid': UPLOAD}, None, None)
    with pytest.raises(PermanentError, match='neither a file nor'):
        job.run()


@pytest.mark.parametrize('path', ['/dev/zero', 'a\0b'])
def test_a_path_that_is_no_file_is_no_image(makeLocalSite, options, path):
    options['import_directories'] = '/'
    site = makeLocalSite(image_path=path)
    with pytest.raises(PermanentError, match='import_directories'):
        site.create(site.makeNode(NODE))


# What the kernel does for a node

CALLS = """
import ctypes, errno, json, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
def getError(*args):
    ctypes.set_errno(0)
    call(*map(ctypes.c_long, args))
    return errno.errorcode.get(ctypes.get_errno())
print(json.dumps([getError(*each, *[0] * 5) for each in json.loads(
    sys.argv[1])]))
"""


@pytest.fixture
def call(directory):
    """:return: a function of system calls, each a list of its number and
        arguments, that gives the names of their errors."""
    def call(*calls):
        with Users().claim() as user:
            code, said = Sandbox(user).run(
                'mark', ['python3', '-c', CALLS, json.dumps(calls)], 10,
                directory)
        assert code == 0, said
        return json.loads(said)
    return call


COLUMN = seccomp.ARCHITECTURES[os.uname().machine].column


def getNumber(name):
    return seccomp.REFUSED[name][COLUMN]


def test_calls_that_a_node_has_no_use_for_are_refused(call):
    numbers = [each[COLUMN] for each in seccomp.REFUSED.values()
               if each[COLUMN] is not None]
    assert call(*([number] for number in numbers)) == (
        ['EPERM'] * len(numbers))


def test_calls_that_are_not_known_are_refused(call):
    # Of x32, the last one.
    assert call([seccomp.LAST + 1], [seccomp.CLONE3], [0x40000000]) == (
        ['ENOSYS'] * 3)


@pytest.mark.parametrize('flag', [
    0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000,
    0x40000000])
def test_a_node_cannot_make_namespaces(call, flag):
    assert call([getNumber('unshare'), flag],
                [seccomp.CLONE[COLUMN], flag]) == ['EPERM'] * 2


def test_a_node_cannot_have_sockets_of_the_hypervisor(call):
    """No network namespace keeps them apart."""
    vsock, unix, stream = 40, 1, 1
    assert call([seccomp.SOCKET[COLUMN], vsock, stream],
                [seccomp.SOCKET[COLUMN], unix, stream]) == ['EPERM', None]


@pytest.mark.skipif(os.uname().machine != 'x86_64',
                    reason='such programs are for x86-64')
def test_calls_by_numbers_of_32_bits_end_a_program(directory):
    # mov eax, 20; int 0x80; ret
    program = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex('b814000000cd80c3'))
ctypes.CFUNCTYPE(int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""
    with Users().claim() as user:
        code, _ = Sandbox(user).run(
            'mark', ['python3', '-c', program], 10, directory)
    # That is SIGSYS.
    assert code == 128 + 31


def test_the_numbers_are_those_of_the_kernel():
    try:
        find = ctypes.CDLL(
            'libseccomp.so.2').seccomp_syscall_resolve_name_arch
    except OSError:
        pytest.skip('needs libseccomp')
    calls = {**seccomp.REFUSED, 'clone': seccomp.CLONE,
             'socket': seccomp.SOCKET, 'clone3': (seccomp.CLONE3,) * 2}
    # Those that it does not know yet have no number.
    for architecture in seccomp.ARCHITECTURES.values():
        wrong = {
            name: number for name, numbers in calls.items()
            if (number := find(ctypes.c_uint32(architecture.audit),
                               name.encode())) != numbers[
                                   architecture.column] and number != -1
            and (number >= 0 or numbers[architecture.column] is not None)}
        assert wrong == {}


def test_a_machine_whose_calls_are_not_known_has_no_nodes():
    with pytest.raises(DriverError, match='x86_64'):
        seccomp.makeProgram('pdp11')


def test_a_job_cannot_be_root_in_a_namespace(
        makeLocalSite, directory, key):
    (directory / 'import').mkdir()
    archive = makeArchive(
        directory / 'import/root', (*PACKAGES, 'util-linux'))
    site = makeLocalSite(image_path=str(archive))
    instance = site.create(site.makeNode(NODE))
    result = ssh(key, instance, 'unshare --user --map-root-user id')
    assert (result.stdout, 'Operation not permitted' in result.stderr) == (
        '', True)
    # All else works: processes, threads and terminals.
    result = ssh(key, instance, 'seq 10 | sort --parallel=2 | tail -n 1; tty',
                 '-tt')
    assert result.stdout.split() == ['9', '/dev/pts/0']
