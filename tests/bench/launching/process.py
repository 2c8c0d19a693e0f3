"""A launcher in a process of its own, and the program that it runs."""

import argparse
import configparser
import importlib
import logging
import os
import pathlib
import signal
import sys
import threading

from zuul_nodes.quickstart.process import Process

ROOT = pathlib.Path(__file__).parents[3]


def makeProcess(class_name, hostname, config_file, log_level):
    """
    :param str class_name: the launcher's class, with its module.
    :param str hostname: its name in the component registry.
    :param Path config_file: its zuul.conf; its log is put beside it.
    :return: a :class:`Process`, not started.
    """
    path = os.pathsep.join(
        filter(None, (str(ROOT), os.environ.get('PYTHONPATH'))))
    return Process(
        hostname,
        [sys.executable, '-m', __name__, class_name, hostname, config_file,
         log_level],
        config_file.with_name(f'{hostname}.log'),
        {**os.environ, 'PYTHONPATH': path})


def getClass(name):
    """:param str name: of a class, with its module."""
    module, _, attribute = name.rpartition('.')
    return getattr(importlib.import_module(module), attribute)


def main():
    parser = argparse.ArgumentParser()
    for name in ('class_name', 'hostname', 'config_file', 'log_level'):
        parser.add_argument(name)
    args = parser.parse_args()
    stop_event = threading.Event()
    signal.signal(signal.SIGTERM, lambda *args: stop_event.set())
    logging.basicConfig(
        level=args.log_level,
        format='%(asctime)s %(levelname)s %(name)s: %(message)s')
    from tests.bench.launching.cloud import makeRegistry
    config = configparser.ConfigParser()
    config.read(args.config_file)
    launcher = getClass(args.class_name)(
        config, makeRegistry(config), _hostname=args.hostname)
    launcher.start()
    stop_event.wait()
    launcher.stop()
    launcher.join()


if __name__ == '__main__':
    main()
