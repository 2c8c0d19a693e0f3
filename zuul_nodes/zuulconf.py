"""Read zuul.conf like Zuul, with checks that give one clear line each."""

import argparse
import configparser
import os
import re

from zuul_nodes.exceptions import UserError

LOCATIONS = ('/etc/zuul/zuul.conf', '~/zuul.conf')


def addConfigArgument(parser):
    parser.add_argument('-c', dest='config', metavar='ZUUL.CONF',
                        help='the configuration file (default: '
                        + ' or '.join(LOCATIONS) + ')')


def parseArguments(arguments):
    """
    :param list arguments: of one of Zuul's services.
    :return: the file given with -c, or None; and whether the command starts
        a service.  Otherwise it controls a running service, or prints its
        help.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('-c', dest='config')
    # Flags may be combined, as in "-fdc zuul.conf".
    for flag in ('-f', '-d'):
        parser.add_argument(flag, action='store_true')
    args, others = parser.parse_known_args(arguments)
    is_service = not any(
        other in ('-h', '--help', '--version') or other[:1] != '-'
        for other in others)
    return args.config, is_service


def load(path=None):
    """Read zuul.conf from the locations that Zuul uses, without checks.

    :return: a ConfigParser; empty if there is no such file.
    """
    config = configparser.ConfigParser(
        {k: v for k, v in os.environ.items() if k.startswith('ZUUL_')})
    for location in [path] if path else LOCATIONS:
        # Zuul, too, reads only the first existing file.
        if config.read(os.path.expanduser(location)):
            break
    return config


def read(path=None):
    """
    :return: the configuration, as from :func:`load`.
    :raises UserError: the file does not exist or is not well formed.
    """
    if path and not os.path.isfile(os.path.expanduser(path)):
        raise UserError(f'there is no file {path}; '
                        f'name your zuul.conf with -c')
    try:
        config = load(path)
    except (OSError, configparser.Error) as error:
        message = ' '.join(str(error).split())
        raise UserError(f'cannot read zuul.conf: {message}') from error
    if not config.sections():
        raise UserError(f'there is no {" and no ".join(LOCATIONS)}; '
                        f'name your zuul.conf with -c')
    return config


def getConnections(config):
    """
    :param ConfigParser config: zuul.conf
    :return: name of a connection -> its section, in the order of zuul.conf.
    """
    return {match[1]: config[section] for section in config.sections()
            if (match := re.fullmatch(r'connection\s+[\'"]?(.*?)[\'"]?',
                                      section, re.IGNORECASE))}


def requireZooKeeper(config):
    """:raises UserError: zuul.conf lacks what a connection needs."""
    for option in ('hosts', 'tls_cert', 'tls_key', 'tls_ca'):
        if not config.get('zookeeper', option, fallback=None):
            raise UserError(
                f'zuul.conf has no "{option}" in [zookeeper]; Zuul needs '
                f'hosts, tls_cert, tls_key and tls_ca there')
    for option in ('tls_cert', 'tls_key', 'tls_ca'):
        path = config.get('zookeeper', option)
        if not os.access(path, os.R_OK):
            raise UserError(f'zuul.conf: "{option}" in [zookeeper] is '
                            f'{path}, which cannot be read')


def requireDirectories(config, section, paths):
    """
    :param dict paths: options that contain the path of a file -> default.
    :raises UserError: the directory of one of the files cannot be written.
    """
    for option, default in paths.items():
        path = os.path.expanduser(
            config.get(section, option, fallback=default))
        directory = os.path.dirname(path) or '.'
        if not os.access(directory, os.W_OK):
            raise UserError(
                f'zuul.conf: "{option}" in [{section}] is {path}, but '
                f'{directory} is not a writable directory')
