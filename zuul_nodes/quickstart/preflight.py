"""Is everything there?  Asked before anything is started.

Each check raises a UserError that says what is missing and how to get it.
"""

import os
import pathlib
import shutil
import sys
import tempfile

from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.zookeeper import JAR_DIRECTORY, JARS

# program -> the Debian package that has it
PROGRAMS = {
    'java': 'default-jre-headless',
    'git': 'git',
    'sshd': 'openssh-server',
    'ssh': 'openssh-client',
    'ssh-agent': 'openssh-client',
    'bwrap': 'bubblewrap',
    'setpriv': 'util-linux',
}

# An executor's build directories must leave room for the socket of a shared
# ssh connection, and the path of a socket is limited to 107 bytes.
SOCKET_DIRECTORY = '/tmp'


def findProgram(name):
    """:return: the path of a program, or None.  Servers are found too,
        which are not in every user's PATH."""
    return shutil.which(
        name, path=f'{os.environ.get("PATH", "")}:/usr/sbin:/sbin')


def check(directory, web_port=None):
    """:param directory: where the state is to live.
    :param web_port: the port that was asked for, or None for any.
    :raises UserError: something is missing.
    """
    checkPlatform()
    checkPrograms()
    checkDirectory(directory)
    if web_port is not None:
        checkPort(web_port)


def checkPlatform():
    if sys.platform != 'linux':
        raise UserError(
            f'this is {sys.platform}, but Zuul needs Linux: use a machine or '
            f'a virtual machine with Debian 12')


def checkPrograms():
    for program, package in PROGRAMS.items():
        if not findProgram(program):
            raise UserError(
                f'{program} is missing: install it with '
                f'"apt-get install {package}"')
    for jar in JARS:
        if not (JAR_DIRECTORY / jar).exists():
            raise UserError(
                f'{JAR_DIRECTORY / jar} is missing: install it with '
                f'"apt-get install libzookeeper-java"')


def checkDirectory(directory):
    """The directory exists afterwards, and something was written there."""
    directory = pathlib.Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UserError(
            f'cannot write to {directory} ({error.strerror}): choose another '
            f'place with --directory') from error


def checkPort(port):
    if not ports.isFree(port):
        raise UserError(
            f'port {port} on {ports.LOOPBACK} is in use: stop what listens '
            f'there, or choose another one with --web-port')
