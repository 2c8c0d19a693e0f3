"""``zuul-nodes quickstart``: runs a complete Zuul on this machine."""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import sys

from zuul_nodes.cmd.common import arguments
from zuul_nodes.cmd.common.limits import Interruption
from zuul_nodes.cmd.common.output import (
    addFormatArgument,
    formatFields,
    formatJSON,
    formatTable,
    printDone,
)
from zuul_nodes.cmd.common.progress import Progress
from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart.api import API, Unavailable
from zuul_nodes.quickstart.config import TENANT
from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.process import waitFor
from zuul_nodes.quickstart.quickstart import JOB, Quickstart
from zuul_nodes.quickstart.repositories import IMAGE_REPOSITORY
from zuul_nodes.quickstart.state import State, defaultDirectory
from zuul_nodes.quickstart.steps import FAILED, Steps

DESCRIPTION = '''\
Run a complete Zuul on this machine, without containers: ZooKeeper, a
scheduler with the launcher inside it, an executor, the web interface, git
repositories, and an sshd as the first node.  Zuul builds an image on that
node and validates it.  Then a commit is pushed, and its job runs on a node of
the new image.  Two more builds of the image replace the first.  The command
prints the duration of each step.  All services listen on loopback only, and
are stopped at the end.

The exit status is 0 if the build succeeded.

"status" shows a quickstart that is running, and "stop" ends it.  Their exit
status is 1 if none runs in the directory.'''
# Seconds for a quickstart to stop.
STOP_TIMEOUT = 60


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        'action', nargs='?', choices=('status', 'stop'),
        help='show the quickstart that is running in the directory, or stop '
             'it, instead of starting one')
    parser.add_argument(
        '--directory', type=pathlib.Path, default=defaultDirectory(),
        help='directory for its state: empty, new, or that of an earlier '
             'quickstart (default: %(default)s)')
    parser.add_argument(
        '--web-port', type=arguments.port, metavar='PORT',
        help='port of the web interface (default: 9000, or another port if '
             'that is in use)')
    parser.add_argument(
        '--keep', action='store_true',
        help='keep it running after the build, until Ctrl-C; services that '
             'end are started again')
    addFormatArgument(parser)


def run(args):
    if args.action:
        state = State(args.directory)
        owner = state.findOwner()
        if owner is None:
            raise UserError(f'no quickstart is running in {state.directory}')
        return (_stop(args.format, state, owner) if args.action == 'stop'
                else _printStatus(args.format, state, owner))
    # With JSON, standard output has the result only.
    progress = sys.stderr if args.format == 'json' else sys.stdout
    steps = Steps(_Printer(progress))
    quickstart = Quickstart(
        args.directory, args.web_port, images=True, steps=steps)
    build = failure = None
    interruption = Interruption()
    try:
        build = _work(quickstart)
        if args.keep:
            _printResult(args.format, quickstart, build)
            _keep(quickstart, progress)
            return 0
    except Failure as error:
        failure = error
    except KeyboardInterrupt:
        return 128 + interruption.signal
    finally:
        # Further signals must not interrupt the shutdown.
        interruption.ignore()
        quickstart.stop()
    _printResult(args.format, quickstart, build)
    if failure:
        _printFailure(failure, steps)
        return 1
    print('Everything is stopped; use --keep to keep it running.',
          file=progress)
    return 0


def _work(quickstart):
    """:return: the successful build, as the REST API describes it."""
    quickstart.prepare()
    quickstart.start()
    step, images = quickstart.steps.step, quickstart.images
    with step('Build the missing image'):
        first = images.waitForArtifact()
    with step('Upload it to the provider'):
        images.waitForUpload(first)
    with step('Validate it on a test node'):
        images.waitForService(first)
    with step('Validate it in the other tenant, in another format'):
        quickstart.guest_images.waitForService(
            quickstart.guest_images.waitForArtifact())
    with step('Push to the demo, and to the image'):
        revision = quickstart.push()
        quickstart.push('The second build', IMAGE_REPOSITORY)
    with step('Run the job on a node of the image'):
        build = quickstart.waitForBuild(revision)
    with step('Build the image a second time'):
        second = images.waitForArtifact()
        quickstart.push('The third build', IMAGE_REPOSITORY)
    with step('Build it a third time'):
        third = images.waitForArtifact()
    with step('Validate both'):
        images.waitForService(second)
        images.waitForService(third)
    with step('Delete the first build and its artifact'):
        images.waitForEnd(first)
    return build


def _keep(quickstart, progress):
    """Wait for Ctrl-C; raise Failure if a process ends again and again."""
    places = quickstart.getPlaces()
    print('\n'.join((
        '', 'All services keep running.', _describe(places), '',
        'What to try next:',
        *(f'  {what}:\n    {command}' for what, command in _getIdeas(
            quickstart.demo_checkout, places)),
        '', 'Press Ctrl-C to stop.')), file=progress, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        quickstart.watch()


def _getIdeas(demo, places):
    """
    :param pathlib.Path demo: the checkout of the demo.
    :param places: what Quickstart.getPlaces() returns.
    :return: yields pairs of an aim and a command.
    """
    nodes, conf = _findProgram('zuul-nodes'), places['zuul_conf']
    yield 'Run the job again', (
        f'git -C {demo} commit --allow-empty -m Again && git -C {demo} push')
    yield 'See the nodes', f'{nodes} nodes -c {conf} list'
    yield 'See the builds of images', f'{nodes} images -c {conf} list'
    if client := _findProgram('zuul-client'):
        client = f'{client} -c {places["client_conf"]} --use-config {TENANT}'
        yield 'See the builds of jobs', f'{client} builds'
        yield 'Hold the node of the next job that fails', (
            f'{client} autohold --project {demo.name} --job {JOB} '
            '--reason test')


def _findProgram(name):
    """:return: what to type for a program; None if it is not installed."""
    if shutil.which(name):
        return name
    path = Quickstart.program(name)
    return path if path.exists() else None


def _describe(places):
    """:return: text about what Quickstart.getPlaces() returns."""
    return formatFields((
        ('Web UI', places['web_ui']),
        # A quickstart of a former release has not written it.
        ('Nodes of the tenant', places.get('nodes_page')),
        ('Git repositories', places['checkouts']),
        ('zuul.conf', places['zuul_conf']),
        ('Configuration of zuul-client', places['client_conf']),
        ('Key for logins to nodes', places['user_key']),
        ('Logs', places['logs'])))


def _printStatus(output_format, state, owner):
    places = state.readPlaces()
    components = {}
    if places:
        with contextlib.suppress(Unavailable):
            components = API(places['web_url'], TENANT).components()
    rows = [(kind, component['state'])
            for kind, found in sorted(components.items())
            for component in found]
    if output_format == 'json':
        print(formatJSON({
            'process': owner, 'places': places,
            'components': [{'kind': kind, 'state': component_state}
                           for kind, component_state in rows]}))
        return 0
    print(f'A quickstart is running (process {owner}).')
    if rows:
        print(formatTable(('Component', 'State'), rows))
    else:
        print('zuul-web does not answer, or not yet.')
    if places:
        print(_describe(places))
    return 0


def _stop(output_format, state, owner):
    os.kill(owner, signal.SIGTERM)
    try:
        waitFor(lambda: state.findOwner() != owner,
                f'process {owner} does not stop', STOP_TIMEOUT)
    except Failure as error:
        raise UserError(error.reason) from error
    printDone(output_format, 'The quickstart has stopped')
    return 0


class _Printer(Progress):
    """Also prints notes in the middle of a step."""

    def started(self, step):
        self.say(f'{step.name} ...')

    def note(self, text):
        self.say(f'    {text}')

    def finished(self, step):
        self.say(f'    {step.result}, {step.seconds:.1f} s')


def _printResult(output_format, quickstart, build):
    """:param build: None if no build was successful."""
    result = build['result'] if build else 'FAILURE'
    urls = quickstart.urls(build) if build else {}
    steps = list(quickstart.steps)
    if output_format == 'json':
        print(formatJSON({
            'result': result,
            'steps': [{'name': step.name, 'result': step.result,
                       'seconds': round(step.seconds, 3)} for step in steps],
            'urls': urls,
            **quickstart.getPlaces(),
        }), flush=True)
        return
    rows = [(step.name, step.result, f'{step.seconds:.1f}')
            for step in steps]
    rows.append(('Total', result,
                 f'{sum(step.seconds for step in steps):.1f}'))
    lines = ['', formatTable(('Step', 'Result', 'Seconds'), rows), '']
    if build:
        output = quickstart.builds.getPlaybookOutput(build)
        lines += ['Output of the job:',
                  *(f'    {line}' for line in output), '']
    lines += [f'{name}: {url}' for name, url in urls.items()]
    lines.append(f'Logs: {quickstart.state.logs}')
    print('\n'.join(lines), flush=True)


def _printFailure(failure, steps):
    failed = next((step.name for step in steps if step.result == FAILED),
                  'Keep it running')
    lines = [f'zuul-nodes quickstart: "{failed}" failed: {failure.reason}']
    if failure.log_file:
        lines.append(f'log file: {failure.log_file}, its last lines:')
        lines += [f'    {line}' for line in failure.last_lines]
    print('\n'.join(lines), file=sys.stderr, flush=True)
