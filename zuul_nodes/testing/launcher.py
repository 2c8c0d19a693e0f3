"""A launcher in a process of its own, which can be killed.

The process is forked from one that has imported everything, so it starts
quickly.
"""

from collections.abc import Mapping
import configparser
import gc
import json
import logging
import multiprocessing
import os
import pathlib
import signal
import sys
import threading

from zuul.driver import Driver as ZuulDriver
from zuul.driver.static import staticendpoint

from zuul_nodes import plugin
from zuul_nodes.launcher import launcher
from zuul_nodes.testing import faults
from zuul_nodes.testing.layout import makeConnections

SESSION = 'session.json'
LOG = 'launcher.log'
# The contents of zuul.conf: section -> option -> value.
Options = dict[str, dict[str, str]]
# Seconds of a back-off.  Here, clouds recover at once.
PAUSE = 0.05
# Seconds between rounds of the clean-up.
CLEANUP_INTERVAL = 0.3
# Settings that shorten other waits.
SETTINGS = {
    **dict.fromkeys((
        'first_backoff', 'longest_backoff', 'layout_first_backoff',
        'layout_longest_backoff', 'missing_provider_longest_backoff',
        'provider_first_backoff', 'provider_longest_backoff'), PAUSE),
    'capacity_interval': 0.5,
    'cleanup_interval': CLEANUP_INTERVAL,
    'endpoint_progress_timeout': 5.0,
    'image_first_backoff': PAUSE,
    'image_interval': 0.5,
    'image_longest_backoff': 0.5,
    'limits_lifetime': 0.5,
    'lock_removal_interval': 0.5,
    'image_use_interval': PAUSE,
    'snapshot_interval': PAUSE,
    'drift_grace': PAUSE,
    'reclaim_interval': PAUSE,
    'image_lock_backoff': 0.2,
    'upload_first_backoff': PAUSE,
}


def hurry() -> None:
    """Limit the wait before a static node is recycled to :data:`PAUSE`."""
    staticendpoint.DELETE_RECYCLE_TIME = PAUSE


def run(options: Options, driver_class: type[ZuulDriver],
        directory: pathlib.Path, environ: Mapping[str, str],
        uploading: bool) -> None:
    """
    :param options: zuul.conf, section -> option -> value.
    :param driver_class: that is tested.
    :param directory: of the files for the kit.
    :param environ: the environment.
    :param uploading: whether to prevent imports, so that images are
        uploaded.
    """
    # A search for garbage would copy all that the process has inherited.
    gc.freeze()
    os.environ.update(environ)
    _openLog(directory / LOG)
    threading.Thread(target=_endWithParent, daemon=True).start()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *args: ended.set())
    if not plugin.install():
        sys.exit('the plugin cannot be used here; "zuul-nodes doctor" '
                 'explains why')
    hurry()
    config = configparser.ConfigParser(interpolation=None)
    config.read_dict(options)
    # A driver that needs more time changes the settings.
    connections = makeConnections(config, driver_class)
    config.read_dict({'launcher': SETTINGS})
    if uploading:
        driver_class.adapter_class.canImport = lambda *args: False
    faults.install(connections, directory)
    one = launcher.Launcher(config, connections)
    session_id, password = one.zk_client.client.client_id
    part = (directory / SESSION).with_suffix('.part')
    part.write_text(json.dumps([session_id, password.hex()]))
    part.rename(directory / SESSION)
    one.start()
    ended.wait()
    one.stop()
    one.join()


def _openLog(path: pathlib.Path) -> None:
    with open(path, 'ab') as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    logging.basicConfig(
        level='DEBUG', force=True, stream=open(  # noqa: SIM115
            path, 'a', buffering=1),
        format='%(asctime)s %(levelname)s %(name)s: %(message)s')
    logging.getLogger('kazoo').setLevel(logging.INFO)


def _endWithParent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, 'to be run in a process of its own'
    parent.join()
    os._exit(1)
