"""Check that the machine has all that a quickstart needs, before it starts.

Each check raises a UserError that names what is missing and how to get it.
"""

import os
import shutil
import sys

from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.zookeeper import JAR_DIRECTORY, JARS

# program -> its Debian package
PROGRAMS = {
    'java': 'default-jre-headless',
    'git': 'git',
    'sshd': 'openssh-server',
    'ssh': 'openssh-client',
    'ssh-agent': 'openssh-client',
    'bwrap': 'bubblewrap',
    'setpriv': 'util-linux',
}

# The executor makes these available to jobs and fails without them.
FILES = ('/etc/hosts', '/etc/localtime', '/etc/resolv.conf')


def findProgram(name):
    """:return: the path of a program, or None.  Searches also the
        directories of servers, which are not in every user's PATH."""
    return shutil.which(
        name, path=f'{os.environ.get("PATH", "")}:/usr/sbin:/sbin')


def check(web_port=None):
    """:param web_port: the requested port; None for any.
    :raises UserError: something is missing.
    """
    checkPlatform()
    checkPrograms()
    checkFiles()
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


def checkFiles():
    for path in FILES:
        if not os.path.exists(path):
            raise UserError(f'{path} is missing: create it, Zuul needs it')


def checkPort(port):
    if not ports.isFree(port):
        raise UserError(
            f'port {port} on {ports.LOOPBACK} is in use: stop the program '
            f'that listens there, or choose another port with --web-port')
