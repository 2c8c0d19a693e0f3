"""``zuul-nodes uploads``: lists the uploads of images."""

import time
import urllib.parse

from zuul_nodes import zuulconf
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.cmd.common import arguments, output

DESCRIPTION = '''\
List the uploads of images: to which endpoint, for which providers, their state
and for how long, the artifact that is uploaded, and the id that the cloud has
given to the image.  The list shows the progress of a running upload and the
reason of a failed one.

"zuul-nodes images" lists the same by image and build, and manages builds.

The command only reads ZooKeeper.  It runs beside a running Zuul and uses its
zuul.conf.'''

UPLOADS = '/zuul/image-uploads/uploads'
STATES = ('pending', 'uploading', 'ready', 'failed', 'deleting')
COLUMNS = ('Upload', 'Image', 'Artifact', 'Endpoint', 'Providers', 'State',
           'For', 'Id or reason')
WIDTHS = {'Image': 10, 'Endpoint': 12, 'Providers': 10, 'State': 9, 'For': 6,
          'Id or reason': 12}


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    for name, what in (('image', 'of this image'),
                       ('artifact', 'of the artifact whose id begins so'),
                       ('provider', 'for this provider'),
                       ('endpoint', 'to this endpoint')):
        parser.add_argument(f'--{name}', help=f'only uploads {what}')
    parser.add_argument('--state', choices=STATES,
                        help='only uploads in this state')
    arguments.addOlderThan(parser, 'uploads that have been in their state')


def run(args):
    from zuul_nodes.cmd.common.readonly import connected
    with connected(zuulconf.read(args.config)) as zookeeper:
        uploads = readUploads(zookeeper.client)
    uploads = [each for each in uploads if isWanted(each, args)]
    if args.format == 'json':
        print(output.formatJSON(uploads))
    else:
        print(output.formatTable(COLUMNS, map(getRow, uploads), WIDTHS))
    return 0


def readUploads(client):
    """
    :param KazooClient client: may be read-only.
    :return: a list of dicts, for each upload one, sorted by image and
        endpoint, the oldest first.
    """
    from zuul_nodes.cmd.common import zkobjects
    from zuul_nodes.imageremarks import Remarks
    now = time.time()
    remarks = Remarks(client)
    with_remark = remarks.getKeys()
    records = zkobjects.readAll(client, UPLOADS)
    records.sort(key=lambda each: (
        each['canonical_name'], each['endpoint_name'],
        each['timestamp'] or 0, each['uuid']))
    return [{
        'uuid': record['uuid'],
        'image': urllib.parse.unquote_plus(record['canonical_name']),
        'artifact': record['artifact_uuid'],
        'endpoint': record['endpoint_name'],
        'providers': record['providers'] or [],
        'state': record['_state'],
        'state_age': record['state_time'] and round(
            now - record['state_time']),
        'validated': record['validated'],
        'external_id': record['external_id'],
        'attempt': record['attempt'],
        'progress': record.get('progress'),
        'remark': remarks.getRemark(record['uuid'])
        if record['uuid'] in with_remark else None,
    } for record in records]


def isWanted(upload, args):
    """:return: whether the arguments select an upload."""
    names = {getShortName(each) for each in upload['providers']}
    return (args.image in (None, upload['image'], getShortName(
                upload['image']))
            and upload['artifact'].startswith(args.artifact or '')
            and args.provider in (None, *upload['providers'], *names)
            and args.endpoint in (None, upload['endpoint'])
            and args.state in (None, upload['state'])
            and (args.older_than is None
                 or (upload['state_age'] or 0) > args.older_than))


def getRow(upload):
    """:return: the cells of the table for an upload."""
    state = upload['state']
    if state == 'ready' and not upload['validated']:
        state = 'not valid' if upload['validated'] is False else 'ready, new'
    age = upload['state_age']
    return (upload['uuid'][:8], getShortName(upload['image']),
            upload['artifact'][:8], upload['endpoint'],
            ', '.join(map(getShortName, upload['providers'])) or '-', state,
            '-' if age is None else output.formatAge(age),
            upload['remark'] or upload['external_id']
            or upload['progress'] or '-')
