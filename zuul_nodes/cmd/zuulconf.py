"""zuul.conf, read and checked so far that errors are one clear line."""

import configparser
import os

from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import refusal


def addConfigArgument(parser):
    parser.add_argument('-c', dest='config', metavar='ZUUL.CONF',
                        help='the configuration file; by default '
                        + ' or '.join(refusal.LOCATIONS))


def read(path=None):
    """:return: the configuration.

    :raises UserError: the file is not there or is not well formed.
    """
    if path and not os.path.isfile(os.path.expanduser(path)):
        raise UserError(f'there is no file {path}; '
                        f'name your zuul.conf with -c')
    try:
        config = refusal.readConfig(path)
    except (OSError, configparser.Error) as error:
        message = ' '.join(str(error).split())
        raise UserError(f'can not read zuul.conf: {message}') from error
    if not config.sections():
        raise UserError(f'there is no {" and no ".join(refusal.LOCATIONS)}; '
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
