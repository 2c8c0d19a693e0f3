"""What all tests have: plugins with fixtures, and how thorough they are."""

import atexit
import gc
import itertools
import os
import pathlib
import shutil
import tempfile

from hypothesis import settings
import pytest

pytest_plugins = [
    'tests.emulators.awsserver',
    'tests.fixtures.commands',
    'tests.fixtures.quick',
    'tests.fixtures.zookeeperserver',
]

# Fixtures import parts of the kit before the kit itself says so.
pytest.register_assert_rewrite('zuul_nodes.testing')

# Temporary files are in memory if it has so much room (bytes): most of them
# live for less time than a disk takes to make and delete them.
MEMORY = pathlib.Path('/dev/shm')
ROOM = 8 << 30
if 'TMPDIR' not in os.environ and os.access(MEMORY, os.W_OK) and (
        shutil.disk_usage(MEMORY).free > ROOM):
    # For whom we start, and for this process.
    os.environ['TMPDIR'] = tempfile.tempdir = os.fspath(MEMORY)

# Until all tests are imported, nothing is garbage.
gc.disable()

# To take apart all that a process has imported takes it seconds, which all
# wait for.  What others are told in the end comes before this.
if 'PYTEST_XDIST_WORKER' in os.environ:
    atexit.register(os._exit, 0)

# "--hypothesis-profile full" is what "tox -e full" runs with; see
# tests/fixtures/examples.py.
settings.register_profile('quick', deadline=None)
settings.register_profile('full', deadline=None)
settings.load_profile('quick')

# Seconds for a test with one of these marks; pyproject.toml has those for
# all others.
TIMEOUTS = {'services': 1800, 'crash': 600, 'conformance': 900, 'roles': 1800,
            'kubernetes': 1800, 'openstack_services': 1800}


# About how many seconds a test with one of these marks takes beside five
# other workers, unless it has the mark "seconds".
SECONDS = {'services': 40, 'crash': 15}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    marks = []
    for item in items:
        names = [name for name in TIMEOUTS if item.get_closest_marker(name)]
        for name in names:
            item.add_marker(pytest.mark.timeout(TIMEOUTS[name]))
        marks.append(next((name for name in SECONDS if name in names), None))
    # What takes long begins first, so that no worker waits for another in
    # the end: each worker has an equal part of the list to begin with, and
    # then takes the last of what another has left.  Half of them have whole
    # Zuuls, more would be too much for the machine.  Otherwise the order
    # stays as pytest-randomly has made it.
    services, crash, others = (
        [item for item, mark in zip(items, marks, strict=True)
         if mark == wanted] for wanted in (*SECONDS, None))
    pairs = max(int(os.environ.get('PYTEST_XDIST_WORKER_COUNT', '1')) // 2, 1)
    part = len(items) // (2 * pairs)
    ordered = []
    for heavy in (group for pair in zip(
            _share(services, pairs), _share(crash, pairs), strict=True)
                  for group in pair):
        rest = max(part - len(heavy), 0)
        ordered += heavy + others[:rest]
        del others[:rest]
    items[:] = ordered + others


def _share(items, count):
    """:return: as many lists of items, which take about as long, with those
        of a module in one: they share what takes long to make.  What takes
        longest comes first, of modules as of the tests of a module."""
    shares = [[] for _ in range(count)]
    modules = [sorted(group, key=_getSeconds, reverse=True) for _, group
               in itertools.groupby(items, lambda item: item.path)]
    for module in sorted(modules, key=_sumSeconds, reverse=True):
        min(shares, key=_sumSeconds).extend(module)
    return shares


def _sumSeconds(items):
    return sum(map(_getSeconds, items))


def _getSeconds(item):
    mark = item.get_closest_marker('seconds')
    return mark.args[0] if mark else next(
        seconds for name, seconds in SECONDS.items()
        if item.get_closest_marker(name))


def pytest_collection_finish():
    """Never look for garbage in what is imported, which is most of what
    there is: hypothesis and others look often.  Nor look often at all that
    tests import later: it took a twentieth of the processor time."""
    gc.freeze()
    gc.set_threshold(700, 10, 100)
    gc.enable()


def pytest_sessionfinish():
    """Nor look for garbage in what goes with the process anyway."""
    gc.freeze()
