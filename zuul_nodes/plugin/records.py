"""The providers of all tenants, as the last scheduler recorded them.

What tenants write is in git and read late, but ZooKeeper has what it came
to.  It is read here without Zuul's help, for this is needed where Zuul is
not as the plugin knows it (``zuul.zk.layout.LayoutProvidersStore`` and
``zuul.zk.zkobject`` are what writes it).
"""

import json
import logging
import urllib.parse
import zlib

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

ROOT = '/zuul/tenant'
# Seconds.  A service that can't reach ZooKeeper will wait for it anyway.
TIMEOUT = 10
# Beside the one line that says what the matter is, kazoo has nothing to say.
SILENCE = logging.Logger('silence')
SILENCE.addHandler(logging.NullHandler())


def findProviders(config):
    """Yield the name of the tenant, of the provider and of its connection.

    Yields nothing if ZooKeeper can't be reached, and leaves out records
    that it can't read.

    :param ConfigParser config: zuul.conf
    """
    section = dict(config['zookeeper']) if 'zookeeper' in config else {}
    if not section.get('hosts'):
        return
    client = KazooClient(
        hosts=section['hosts'], use_ssl=True, ca=section.get('tls_ca'),
        certfile=section.get('tls_cert'), keyfile=section.get('tls_key'),
        logger=SILENCE)
    try:
        client.start(timeout=TIMEOUT)
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
        # The kind of provider, a zero byte, and the compressed record.
        record = json.loads(zlib.decompress(data.partition(b'\0')[2]))
        return record['connection_name']
    except (zlib.error, ValueError, KeyError, TypeError):
        return None
