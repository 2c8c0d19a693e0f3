"""The providers of all tenants, from the records of the last scheduler.

Tenants' configuration is in git and loaded late, but ZooKeeper has the result.
This module reads it without Zuul's code, because it is needed when the plugin
does not support the installed Zuul.  The writers are
``zuul.zk.layout.LayoutProvidersStore`` and ``zuul.zk.zkobject``.
"""

import json
import logging
import urllib.parse
import zlib

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

ROOT = '/zuul/tenant'
# Drops the log messages of kazoo, beside which one line would be overlooked.
SILENCE = logging.Logger('silence')
SILENCE.addHandler(logging.NullHandler())


def findProviders(config, timeout=10):
    """Yield the names of the tenant, the provider and its connection.

    Yield nothing if ZooKeeper cannot be reached, and skip unreadable records.

    :param ConfigParser config: zuul.conf
    :param float timeout: seconds to wait for ZooKeeper; without it, the
        service itself waits longer anyway.
    """
    section = dict(config['zookeeper']) if 'zookeeper' in config else {}
    if not section.get('hosts'):
        return
    client = KazooClient(
        hosts=section['hosts'], use_ssl=True, ca=section.get('tls_ca'),
        certfile=section.get('tls_cert'), keyfile=section.get('tls_key'),
        logger=SILENCE)
    try:
        client.start(timeout=timeout)
        for tenant in _getChildren(client, ROOT):
            path = f'{ROOT}/{tenant}/provider'
            for project in _getChildren(client, path):
                for name in _getChildren(client, f'{path}/{project}'):
                    connection = _readConnection(
                        client, f'{path}/{project}/{name}/config')
                    if connection:
                        yield (tenant, urllib.parse.unquote_plus(name),
                               connection)
    except (KazooException, KazooTimeoutError, OSError):
        return
    finally:
        client.stop()
        client.close()


def _getChildren(client, path):
    try:
        return sorted(client.get_children(path))
    except NoNodeError:
        return []


def _readConnection(client, path):
    data = b''.join(client.get(f'{path}/{shard}')[0]
                    for shard in _getChildren(client, path))
    try:
        # The class of the provider, a zero byte, and the compressed record.
        record = json.loads(zlib.decompress(data.partition(b'\0')[2]))
        return record['connection_name']
    except (zlib.error, ValueError, KeyError, TypeError):
        return None
