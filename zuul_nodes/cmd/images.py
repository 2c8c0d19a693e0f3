"""``zuul-nodes images``: which builds of images there are, and where."""

import argparse
import datetime
import json
import urllib.parse
import zlib

from zuul_nodes import zuulconf
from zuul_nodes.cmd import output

DESCRIPTION = '''\
Print the builds of all images: when they were built, and for each endpoint
that needs one what has become of its upload.  One that is under way says
how far it is.

It runs beside a running Zuul, with its zuul.conf.  Nothing is changed.'''

ARTIFACTS = '/zuul/images/artifacts'
UPLOADS = '/zuul/image-uploads/uploads'
# Seconds to wait for ZooKeeper.
TIMEOUT = 30
COLUMNS = ('Image', 'Format', 'Built', 'State', 'Endpoint', 'Upload',
           'Validated', 'Image id or progress')


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    zuulconf.addConfigArgument(parser)
    output.addFormatArgument(parser)
    parser.add_argument('image', nargs='?',
                        help='the name of an image; without it, all')


def run(args):
    config = zuulconf.read(args.config)
    zuulconf.requireZooKeeper(config)
    from zuul_nodes.cmd.readonly import ReadOnlyZooKeeper
    zookeeper = ReadOnlyZooKeeper.fromConfig(config)
    zookeeper.connect(TIMEOUT)
    try:
        builds = getBuilds(zookeeper.client, args.image)
    finally:
        zookeeper.disconnect()
    if args.format == 'json':
        print(output.formatJSON(builds))
    else:
        print(output.formatTable(COLUMNS, list(getRows(builds))))
    return 0


def getBuilds(client, image_name=None):
    """
    :param KazooClient client:
    :param str image_name: of the only image to look for, or None.
    :return: a list of what the records of artifacts say, by image and age,
        each with its ``uploads``.
    """
    uploads = list(_readAll(client, UPLOADS))
    builds = [
        artifact | {'uploads': sorted(
            (upload for upload in uploads
             if upload['artifact_uuid'] == artifact['uuid']),
            key=lambda upload: upload['endpoint_name'])}
        for artifact in _readAll(client, ARTIFACTS)
        if image_name in (None, artifact['name'])]
    return sorted(builds, key=lambda artifact: (
        artifact['canonical_name'], artifact['timestamp'] or 0,
        artifact['format']))


def getRows(builds):
    """:return: yields the rows of the table."""
    for artifact in builds:
        first = (urllib.parse.unquote_plus(artifact['canonical_name']),
                 artifact['format'], _getTime(artifact['timestamp']),
                 artifact['_state'] or 'reported')
        for upload in artifact['uploads'] or [None]:
            yield (*first, *_getCells(upload))


def _getCells(upload):
    if upload is None:
        return '-', '-', '-', '-'
    validated = {True: 'yes', False: 'no', None: 'not yet'}
    return (upload['endpoint_name'], upload['_state'],
            validated[upload['validated']],
            upload['external_id'] or upload.get('progress') or '-')


def _getTime(timestamp):
    if timestamp is None:
        return '-'
    return datetime.datetime.fromtimestamp(timestamp).isoformat(
        ' ', 'seconds')


def _readAll(client, path):
    """:return: yields what the records there say."""
    from kazoo.exceptions import NoNodeError
    try:
        names = client.get_children(path)
    except NoNodeError:
        return
    for name in names:
        try:
            data, _ = client.get(f'{path}/{name}')
            yield json.loads(zlib.decompress(data))
        except NoNodeError:
            # It has gone meanwhile.
            continue
        except (ValueError, zlib.error):
            # Launchers complain of it.
            continue
