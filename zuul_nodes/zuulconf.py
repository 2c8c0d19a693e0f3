"""zuul.conf: found where Zuul finds it, and checked so far that what is
wrong can be told in one clear line."""

import argparse
import configparser
import os

from zuul_nodes.exceptions import UserError

LOCATIONS = ('/etc/zuul/zuul.conf', '~/zuul.conf')


def addConfigArgument(parser):
    parser.add_argument('-c', dest='config', metavar='ZUUL.CONF',
                        help='the configuration file; by default '
                        + ' or '.join(LOCATIONS))


def parseArguments(arguments):
    """
    :param list arguments: those of one of Zuul's services.
    :return: the file given with -c, or None; and whether the command
        runs a service, rather than tell a running one something or print
        its help.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('-c', dest='config')
    # They may be written together, as in "-fdc zuul.conf".
    for flag in ('-f', '-d'):
        parser.add_argument(flag, action='store_true')
    args, others = parser.parse_known_args(arguments)
    is_service = not any(
        other in ('-h', '--help', '--version') or other[:1] != '-'
        for other in others)
    return args.config, is_service


def load(path=None):
    """Read zuul.conf from where Zuul would, as it is.

    :return: a ConfigParser; an empty one if there is no such file.
    """
    config = configparser.ConfigParser(
        {k: v for k, v in os.environ.items() if k.startswith('ZUUL_')})
    for location in [path] if path else LOCATIONS:
        # The first that is there, as Zuul does.
        if config.read(os.path.expanduser(location)):
            break
    return config


def read(path=None):
    """
    :return: the configuration, as :func:`load`.
    :raises UserError: the file is not there or is not well formed.
    """
    if path and not os.path.isfile(os.path.expanduser(path)):
        raise UserError(f'there is no file {path}; '
                        f'name your zuul.conf with -c')
    try:
        config = load(path)
    except (OSError, configparser.Error) as error:
        message = ' '.join(str(error).split())
        raise UserError(f'can not read zuul.conf: {message}') from error
    if not config.sections():
        raise UserError(f'there is no {" and no ".join(LOCATIONS)}; '
                        f'name your zuul.conf with -c')
    return config


def requireZooKeeper(config):
    """:raises UserError: Zuul could not connect to ZooKeeper."""
    for option in ('hosts', 'tls_cert', 'tls_key', 'tls_ca'):
        if not config.get('zookeeper', option, fallback=None):
            raise UserError(
                f'zuul.conf has no "{option}" in [zookeeper]; Zuul needs '
                f'hosts, tls_cert, tls_key and tls_ca there')
    for option in ('tls_cert', 'tls_key', 'tls_ca'):
        path = config.get('zookeeper', option)
        if not os.access(path, os.R_OK):
            raise UserError(f'zuul.conf: "{option}" in [zookeeper] is '
                            f'{path}, which can not be read')


def requireDirectories(config, section, places):
    """
    :param dict places: options that name a file, and their defaults.
    :raises UserError: the directory of one of them can't be written.
    """
    for option, default in places.items():
        path = os.path.expanduser(
            config.get(section, option, fallback=default))
        directory = os.path.dirname(path) or '.'
        if not os.access(directory, os.W_OK):
            raise UserError(
                f'zuul.conf: "{option}" in [{section}] is {path}, but '
                f'{directory} is not a directory that can be written')
