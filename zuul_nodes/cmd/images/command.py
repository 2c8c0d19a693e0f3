"""``zuul-nodes images``: lists the builds of images and manages them."""

import datetime

from zuul_nodes import leftfiles, orders, zuulconf
from zuul_nodes.cmd.common import output
from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
List the images that Zuul builds: the time of each build, and the state of its
upload to each endpoint that needs one.  The list shows the progress of a
running upload and the reason of a failed one.

The other actions change records, which all launchers obey at once.  The
command runs beside a running Zuul and uses its zuul.conf.'''

COLUMNS = ('Image', 'Build', 'Format', 'Built', 'State', 'Endpoint', 'Upload',
           'Validated', 'Image id, progress or reason')
VALIDATED = {True: 'yes', False: 'no', None: 'not yet'}
DECISIONS = {True: 'to be deleted', False: 'stays', None: 'unknown'}
WIDTHS = {'Image': 30, 'Endpoint': 24, 'Image id, progress or reason': 40}
# Name -> help text, and its argument.
CHANGES = {
    'validate': ('validate the uploads of a build again, and repeat uploads '
                 'that failed or were rejected', 'build'),
    'reject': ('take a build out of service, like a validation job that '
               'fails', 'build'),
    'keep': ('keep a build when newer ones exist', 'build'),
    'release': ('undo "keep": let newer builds replace the build', 'build'),
    'delete': ('delete a build: its uploads, its artifact and its record',
               'build'),
    'forget': ('remove the record of a file that "leaks" lists; or, with '
               '--endpoint, those of uploads at an endpoint whose connection '
               'was removed. Neither deletes the file or the images',
               'build'),
    'build': ('request a build of an image, also if none is missing',
              'image'),
    'pause': ('request no builds and start no uploads of an image',
              'image'),
    'resume': ('undo "pause"', 'image'),
}
BUILD = 'the id of a build, as "zuul-nodes images" shows it'
LEAKS = '''\
List the files of deleted builds that no job has deleted from their storage.
Delete them by hand if nothing needs them, then remove them from the list with
"zuul-nodes images forget".'''
LEFT_COLUMNS = ('Image', 'Build', 'Format', 'Deleted', 'URL', 'Reason')
LEFT_WIDTHS = {'Image': 30, 'URL': 60, 'Reason': 40}
WITH_FORCE = ('reject', 'delete')
WITH_ENDPOINT = ('validate', 'reject', 'forget')
WITH_REASON = ('build', 'pause', 'keep')


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    parser.set_defaults(image=None, build=None, action=None)
    actions = parser.add_subparsers(dest='action', metavar='ACTION')
    lister = actions.add_parser('list', help='list images; the default')
    output.addCommonArguments(lister, is_list=True)
    lister.add_argument(
        'image', nargs='?', help='the name of an image (default: all)')
    shower = actions.add_parser('show', help='show all about a build')
    output.addCommonArguments(shower, is_list=True)
    shower.add_argument('build', help=BUILD)
    leaks = actions.add_parser(
        'leaks', help='list files of deleted builds that are still in their '
        'storage', description=LEAKS)
    output.addCommonArguments(leaks, is_list=True)
    for name, (help_text, what) in CHANGES.items():
        change = actions.add_parser(name, help=help_text, description=(
            help_text[0].upper() + help_text[1:] + '.'))
        output.addCommonArguments(change)
        change.add_argument(what, help={
            'build': BUILD, 'image': 'the name of an image'}[what])
        change.add_argument(
            '--timeout', type=float, default=10, metavar='SECONDS',
            help='how long to wait for a launcher that is working on a '
            'record (default: %(default)s)')
        if name in WITH_ENDPOINT:
            change.add_argument(
                '--endpoint', help='only the upload at this endpoint')
        if name in WITH_REASON:
            change.add_argument(
                '--reason', default='', help='the reason, shown to others')
        if name in WITH_FORCE:
            change.add_argument(
                '--force', action='store_true',
                help='even if no other build is in service')


def run(args):
    config = zuulconf.read(args.config)
    if args.action in CHANGES:
        return _change(config, args)
    if args.action == 'leaks':
        return _listLeaks(config, args)
    from zuul_nodes.cmd.common.readonly import connected
    from zuul_nodes.cmd.images.records import (
        findBuild,
        findImage,
        readImages,
        readLayouts,
    )
    with connected(config) as zookeeper:
        layouts = readLayouts(zookeeper.client)
        images = readImages(
            zookeeper.client, getConnections(config), layouts)
        build = args.build and findBuild(images, args.build)
        if build:
            _addDecisions(zookeeper, config, images, layouts, build)
    if args.image:
        images = [findImage(images, args.image)]
    if args.format == 'json':
        print(output.formatJSON(build or images))
    elif build:
        print(formatBuild(build))
    else:
        print(output.formatTable(COLUMNS, list(getRows(images)), WIDTHS))
    return 0


def _addDecisions(zookeeper, config, images, layouts, build):
    """Add what launchers decide about a build and its uploads.

    Their ``decision`` is a dict, or None where there is nothing to decide.
    """
    # Its import takes long.
    from zuul_nodes.cmd.images.decisions import judge
    try:
        verdicts = judge(zookeeper, config, images, layouts)
    except UserError as error:
        # All else can be shown.
        build['decision'] = {'is_deleted': None, 'reason': str(error)}
        verdicts = {}
    for record in (build, *build['uploads']):
        verdict = verdicts.get(record['uuid'])
        record.setdefault('decision', verdict and verdict._asdict())


def _listLeaks(config, args):
    from zuul_nodes.cmd.common.readonly import connected
    from zuul_nodes.cmd.images.records import getName
    with connected(config) as zookeeper:
        files = leftfiles.readAll(zookeeper.client)
    print(output.formatJSON(files) if args.format == 'json'
          else output.formatTable(LEFT_COLUMNS, [
              (getName(each), each['uuid'][:8], each['format'],
               _getTime(each['time']), each['url'], each['reason'])
              for each in files], LEFT_WIDTHS))
    return 0


def _change(config, args):
    from zuul_nodes.cmd.common.readonly import CommandZooKeeper, connected
    from zuul_nodes.cmd.images.changes import Changes
    with connected(config, CommandZooKeeper) as zookeeper:
        changes = Changes(zookeeper, args.timeout, getConnections(config))
        orders.note(
            zookeeper.client, f'images {args.action}',
            image=getattr(args, 'image', None),
            artifact=getattr(args, 'build', None),
            endpoint=getattr(args, 'endpoint', None),
            reason=getattr(args, 'reason', None))
        message = getattr(changes, args.action)(args)
    output.printDone(args.format, message)
    return 0


def getConnections(config):
    """:return: a set of the names of the connections in zuul.conf."""
    return {section.partition(' ')[2].strip() for section in config.sections()
            if section.startswith('connection ')}


def getRows(images):
    """:return: yields the rows of the table."""
    from zuul_nodes.cmd.images.records import getName
    for image in images:
        name = getName(image)
        if image['paused'] is not None:
            yield (name, *['-'] * 3, 'paused', *['-'] * 3,
                   image['paused'] or '-')
        if not image['builds'] or image['problem']:
            yield (name, *['-'] * 3,
                   'requested' if image['builds'] else 'not built', *['-'] * 3,
                   image['problem'] or '-')
        for tenant_name, formats in image['undelivered'].items():
            yield (name, '-', ', '.join(formats), '-', 'not built', *['-'] * 3,
                   f'successful builds of the tenant {tenant_name} lack this '
                   f'format; launchers ask that tenant again when its layout '
                   f'changes')
        for build in image['builds']:
            state = build['_state'] or 'reported'
            if build['kept'] is not None:
                state += ', kept'
            if build['file_gone'] is not None:
                state += ', file gone'
            if build['unneeded_since'] is not None:
                state += ', unneeded'
            first = (name, build['uuid'][:8], build['format'],
                     _getTime(build['timestamp']), state)
            for upload in build['uploads'] or [None]:
                yield (*first, *_getCells(upload))


def formatBuild(build):
    """:return: all about a build and its uploads, as text."""
    from zuul_nodes.cmd.images.records import getName
    return '\n\n'.join(output.formatFields(fields) for fields in ((
        ('Build', build['uuid']),
        ('Image', getName(build)),
        ('Format', build['format']),
        ('Built', _getTime(build['timestamp'])),
        ('State', build['_state'] or 'reported'),
        ('Decision', _getDecision(build)),
        ('Project', build['project_canonical_name']),
        ('Branch', build['project_branch']),
        ('Tenant', build['build_tenant_name']),
        ('Build of the job', build['build_uuid']),
        ('File', build['url']),
        ('MD5', build['md5sum']),
        ('SHA-256', build['sha256']),
        ('Kept', build['kept'] is not None and (build['kept'] or 'yes')),
        ('File gone', build['file_gone']),
        ('Unneeded since', _getSince(build)),
        ('Deletion', _getDeletion(build['file_deletion']))),
        *map(_getFields, build['uploads'])))


def _getFields(upload):
    return (('Upload', upload['uuid']),
            ('Endpoint', upload['endpoint_name']),
            ('Providers', ', '.join(upload['providers'] or ())),
            ('Begun', _getTime(upload['timestamp'])),
            ('State', upload['_state']),
            ('Decision', _getDecision(upload)),
            ('Attempt', upload['attempt'] and str(upload['attempt'])),
            ('Validated', VALIDATED[upload['validated']]),
            ('Validated by', upload['build_uuid']),
            ('Image id', upload['external_id']),
            ('Progress', upload.get('progress')),
            ('Unneeded since', _getSince(upload)),
            ('Remark', upload['remark']))


def _getDeletion(deletion):
    return deletion and (
        f'the tenant {deletion["tenant"]} was asked to delete the file '
        f'(attempt {deletion["attempt"]})'
        + (f'; {deletion["problem"]}' if deletion['problem'] else ''))


def _getDecision(record):
    decision = record['decision']
    return decision and (
        f'{DECISIONS[decision["is_deleted"]]}: {decision["reason"]}')


def _getSince(record):
    return record['unneeded_since'] and _getTime(record['unneeded_since'])


def _getCells(upload):
    if upload is None:
        return '-', '-', '-', '-'
    state = upload['_state']
    if upload['unneeded_since'] is not None:
        state += ', unneeded'
    return (upload['endpoint_name'], state, VALIDATED[upload['validated']],
            upload['remark'] or upload['external_id']
            or upload.get('progress') or '-')


def _getTime(timestamp):
    if timestamp is None:
        return '-'
    return datetime.datetime.fromtimestamp(timestamp).isoformat(
        ' ', 'minutes')
