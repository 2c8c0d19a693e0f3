"""Create an archive of a root file system from this machine's packages.

usage: make_image.py FILE [PACKAGE...]

This is the recipe of an image.  It contains the files of packages and of the
libraries that they need, below /usr as in Debian since "bookworm"; the links
/bin, /lib and so on; a few files in /etc; and the directories that a machine
needs.
"""

import io
import os
import re
import subprocess
import sys
import tarfile

# Required to boot a node and run a command.
PACKAGES = ('bash', 'coreutils', 'dash', 'openssh-server')
# Required by Ansible.
PYTHON = ('libpython3-stdlib', 'python3-minimal')
# Commonly expected.
TOOLS = ('base-files', 'grep', 'hostname', 'procps', 'sed', 'tar')
FILES = {
    'etc/passwd': 'root:x:0:0:root:/root:/bin/bash\n'
                  'zuul:x:1000:1000::/home/zuul:/bin/bash\n',
    'etc/group': 'root:x:0:\ntty:x:5:\nzuul:x:1000:\n',
    'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    'etc/hosts': '127.0.0.1 localhost\n',
}
DIRECTORIES = {'dev': 0o755, 'etc': 0o755, 'home/zuul': 0o755, 'proc': 0o755,
               'run': 0o755, 'tmp': 0o1777, 'var/tmp': 0o1777}
LINKS = ('bin', 'sbin', 'lib', 'lib64')
# Of what packages depend on: libraries, and Python of whichever version.
NEEDED = re.compile(
    r'(?:^|[,|]) *(lib[^ ,:|]*|zlib1g|python3\.[0-9]+-minimal)')
# Manuals and the like, which no job needs.
LEFT_OUT = re.compile(
    r'/usr/share/(bug|doc|doc-base|info|lintian|locale|man)/')


def makeArchive(path, packages=PACKAGES, files=FILES):
    """
    :param path: of the new archive.
    :param packages: names of packages; of their dependencies, only libraries
        are added.
    :param dict files: additional files: path -> text.
    :return: the path.
    """
    with tarfile.open(path, 'w') as archive:
        for name, mode in DIRECTORIES.items():
            _add(archive, name, tarfile.DIRTYPE, mode)
        for name in LINKS:
            _add(archive, name, tarfile.SYMTYPE, 0o777, f'usr/{name}')
        for source in sorted(_listFiles(withLibraries(packages))):
            archive.add(source, recursive=False)
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def withLibraries(packages):
    """:return: a set of the packages and the libraries that they depend on,
    directly or indirectly."""
    depends = {}
    for line in _run('dpkg-query', '--show', '--showformat',
                     '${Package}|${Pre-Depends}, ${Depends}\n').splitlines():
        name, _, needs = line.partition('|')
        depends[name] = NEEDED.findall(needs)
    found = set()
    missing = list(packages)
    while missing:
        name = missing.pop()
        # Of alternatives, the installed ones.
        if name not in found and name in depends:
            found.add(name)
            missing += depends[name]
    return found


def _listFiles(packages):
    """:return: a set of the real paths of all files of the packages."""
    found = set()
    for listed in _run('dpkg-query', '--listfiles', *packages).splitlines():
        directory, name = os.path.split(listed)
        path = os.path.join(os.path.realpath(directory), name)
        if (path.startswith(('/usr/', '/etc/')) and os.path.lexists(path)
                and not LEFT_OUT.match(path + '/')
                and not (os.path.isdir(path) and os.path.islink(path)
                         and path.strip('/') in LINKS)):
            found.add(path)
    return found


def _add(archive, name, kind, mode, target=''):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.mode = mode
    info.linkname = target
    archive.addfile(info)


def _run(*command):
    return subprocess.run(
        command, check=True, capture_output=True, text=True).stdout


if __name__ == '__main__':
    makeArchive(sys.argv[1], sys.argv[2:] or PACKAGES + PYTHON + TOOLS)
