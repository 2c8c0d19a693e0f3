"""``zuul-nodes doctor``: checks the plugin and its fit with this Zuul."""

import dataclasses
import importlib.metadata
import itertools
import pathlib
import platform
import subprocess
import sys
import tempfile

import zuul_nodes
from zuul_nodes import plugin, signatures, zuulconf
from zuul_nodes.cmd.common import components, output
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, seams

# Seconds; an interpreter that starts more slowly is a finding too.
PROBE_TIMEOUT = 180
# Runs under the name of one of Zuul's commands, as the plugin requires.
PROBE = '''\
import gc
import sys
# To look for garbage takes a quarter of the time that the imports take.
gc.disable()
import zuul.cmd
plugin = sys.modules.get('zuul_nodes.plugin')
sys.exit(0 if plugin and plugin.isInstalled() else 3)
'''


@dataclasses.dataclass(frozen=True)
class Finding:
    check: str
    subject: str
    ok: bool
    detail: str


def addArguments(parser):
    zuulconf.addConfigArgument(parser)
    output.addFormatArgument(parser)


def run(args):
    print('Importing Zuul and all drivers ...', file=sys.stderr, flush=True)
    findings = list(examine(args.config))
    healthy = all(finding.ok for finding in findings)
    if args.format == 'json':
        print(output.formatJSON({
            'healthy': healthy,
            'findings': [dataclasses.asdict(f) for f in findings]}))
    else:
        print(output.formatTable(
            ['check', 'subject', 'state', 'detail'],
            [(f.check, f.subject, 'ok' if f.ok else 'WRONG', f.detail)
             for f in findings]))
        print('No problems found.' if healthy else 'Problems found.')
    return 0 if healthy else 1


def examine(path=None):
    """
    :param str path: of zuul.conf, or None.
    :return: an iterator over every :class:`Finding`.
    """
    with tempfile.TemporaryDirectory() as directory:
        probe = startProbe(directory)
        try:
            # Both import Zuul, which takes long, so they run in parallel.
            versions, *others = (
                list(_reportErrors(function)) for function in (
                    examineVersions, examineSeams, examineReplacements,
                    examineEntryPoints, examineDrivers))
            environment = list(_reportErrors(examineEnvironment, probe))
            others.append(_reportErrors(examineLogins, path))
        finally:
            probe.kill()
            probe.communicate()
    yield from itertools.chain(versions, environment, *others)


def _reportErrors(function, *arguments):
    """Report an exception as a finding and continue with the next check."""
    try:
        yield from function(*arguments)
    except Exception as error:
        yield Finding(function.__name__, '', False,
                      f'{type(error).__name__}: {error}')


def examineVersions():
    yield Finding('version', 'python', True, platform.python_version())
    yield Finding('version', 'zuul-nodes', True, zuul_nodes.__version__)
    for package in ('zuul', 'kazoo'):
        version, wanted = signatures.getVersions(package)
        mismatch = signatures.findVersionMismatch(package)
        yield Finding('version', package, not mismatch,
                      mismatch or f'{version}, required: {wanted}')


def startProbe(directory):
    """Start a process that imports Zuul like one of Zuul's commands.

    :param str directory: for the program; must exist until the process ends.
    :return: a Popen.
    """
    program = pathlib.Path(directory, 'zuul-probe')
    program.write_text(PROBE)
    return subprocess.Popen(
        [sys.executable, program], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def examineEnvironment(probe):
    """Check whether Zuul's commands in this environment load the plugin.

    :param Popen probe: from :func:`startProbe`.
    """
    disabled = plugin.isDisabled()
    yield Finding(
        'environment', plugin.DISABLE_VARIABLE, not disabled,
        'set: the plugin is disabled' if disabled else 'not set')
    try:
        _, errors = probe.communicate(timeout=PROBE_TIMEOUT)
        loaded = probe.returncode == 0
        message = errors.strip().rpartition('\n')[2]
    except subprocess.TimeoutExpired:
        loaded = False
        message = f'no answer within {PROBE_TIMEOUT} s'
    if loaded:
        message = 'stock commands load the plugin'
    elif disabled:
        message = 'stock commands do not load the plugin'
    elif not message:
        message = ('stock commands do not load the plugin; reinstall the '
                   'package with pip, or use "zuul-nodes run"')
    yield Finding('environment', 'start-up file', loaded, message)


def examineSeams():
    for seam in seams.SEAMS:
        mismatch = seam.findMismatch()
        yield Finding('seam', seam.name, not mismatch, mismatch or seam.why)


def examineReplacements():
    from zuul_nodes.launcher.zookeeper import REPLACEMENTS
    for each in REPLACEMENTS:
        mismatch = each.findMismatch()
        yield Finding('kazoo', each.name, not mismatch, mismatch or each.why)


def examineLogins(path):
    """Report at which endpoints launchers cannot log in.

    :param str path: of zuul.conf; None if it may be missing, as where Zuul is
        only installed.
    """
    from zuul_nodes.cmd.common.readonly import connected
    config = zuulconf.read(path) if path else zuulconf.load()
    if not config.sections():
        return
    try:
        with connected(config) as zookeeper:
            launchers = list(components.readLaunchers(zookeeper.client))
    except UserError as error:
        # Zuul need not run here.
        yield Finding('log-in', 'launchers', True, f'not asked: {error}')
        return
    refused = [(component['hostname'], each) for component in launchers
               for each in components.getWithdrawals(component)]
    for name, each in refused:
        yield Finding('log-in', f'{name} at {each["endpoint"]}', False,
                      each['reason'])
    if not refused:
        yield Finding('log-in', 'launchers', True,
                      'none says that a cloud refuses its log-in')


def examineEntryPoints():
    for group, named in extensions.find().items():
        for name, entry_points in sorted(named.items()):
            packages = ', '.join(map(extensions.getPackage, entry_points))
            try:
                extensions.loadOne(entry_points)
            except UserError as error:
                yield Finding(group, name, False, str(error))
            else:
                yield Finding(group, name, True, packages)


def examineDrivers():
    """Report the source of each driver that a connection can name."""
    ours = extensions.find()[extensions.DRIVERS]
    zuuls = extensions.getZuulDrivers()
    version = importlib.metadata.version('zuul')
    for name in sorted({*ours, *zuuls}):
        if name in ours:
            source = ', '.join(map(extensions.getPackage, ours[name]))
            if name in zuuls:
                source += ", in place of Zuul's"
        else:
            source = f'zuul {version}'
        yield Finding('driver', name, True, source)
