"""``zuul-nodes doctor``: is the plugin whole, and does it fit this Zuul?"""

import dataclasses
import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import zuul_nodes
from zuul_nodes import plugin
from zuul_nodes.cmd import output
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, seams

# Seconds; an interpreter that starts slower than this is a finding too.
PROBE_TIMEOUT = 30
# Runs under the name of a command of Zuul's, as such a command would.
PROBE = '''\
import sys
autoload = sys.modules.get('zuul_nodes.autoload')
sys.exit(0 if autoload and autoload.isArmed() else 3)
'''


@dataclasses.dataclass(frozen=True)
class Finding:
    check: str
    subject: str
    ok: bool
    detail: str


def addArguments(parser):
    output.addFormatArgument(parser)


def run(args):
    findings = list(examine())
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
        print('All is well.' if healthy else 'Something is wrong.')
    return 0 if healthy else 1


def examine():
    """:return: an iterator of every :class:`Finding`."""
    yield from examineVersions()
    yield from examineEnvironment()
    yield from examineSeams()
    yield from examineEntryPoints()
    yield from examineDrivers()


def examineVersions():
    yield Finding('version', 'python', True, platform.python_version())
    yield Finding('version', 'zuul-nodes', True, zuul_nodes.__version__)
    version, wanted = seams.getVersions()
    mismatch = seams.findVersionMismatch()
    yield Finding('version', 'zuul', not mismatch,
                  mismatch or f'{version}, wanted is {wanted}')


def examineEnvironment():
    """Would one of Zuul's commands, started like this, load the plugin?"""
    disabled = plugin.isDisabled()
    yield Finding(
        'environment', plugin.DISABLE_VARIABLE, not disabled,
        'set: the plugin is switched off' if disabled else 'not set')
    with tempfile.TemporaryDirectory() as directory:
        probe = pathlib.Path(directory, 'zuul-probe')
        probe.write_text(PROBE)
        try:
            status = subprocess.run(
                [sys.executable, probe], env=os.environ, check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=PROBE_TIMEOUT).returncode
        except subprocess.TimeoutExpired:
            status = None
    yield Finding(
        'environment', 'start-up file', status == 0,
        'stock commands load the plugin' if status == 0 else
        'stock commands do not load the plugin; install the package again '
        'with pip, or use "zuul-nodes run"')


def examineSeams():
    for seam in seams.SEAMS:
        mismatch = seam.findMismatch()
        yield Finding('seam', seam.name, not mismatch, mismatch or seam.why)


def examineEntryPoints():
    for group in extensions.GROUPS:
        for name, entry_points in sorted(extensions.find(group).items()):
            packages = ', '.join(map(extensions.getPackage, entry_points))
            try:
                extensions.loadOne(entry_points)
            except UserError as error:
                yield Finding(group, name, False, str(error))
            else:
                yield Finding(group, name, True, packages)


def examineDrivers():
    """Where each driver that a connection could name comes from."""
    ours = extensions.find(extensions.DRIVERS)
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
