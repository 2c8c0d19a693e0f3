"""A pytest plugin that has Zuul's tests test our classes.

The plugin for Zuul enters as it enters Zuul's commands, so parsers, layout
rules and drivers are ours.  Only what Zuul's tests make by themselves is
put in its place here: the launcher.

Besides, it adapts the tests to a machine without a database server: they
get SQLite.  And everything that listens does so on loopback only.

With ``--stock`` our classes stay away, for a comparison.
"""

import contextlib
import functools
import importlib
import json
import os
import threading
import types

import fixtures
import pytest

from zuul_nodes import plugin
from zuul_nodes.launcher import Launcher
from zuul_nodes.quickstart import loopback

# Seconds; no test takes so long.
NEVER = 3600


class Unheard:
    """In place of an event for which nothing waits."""

    def set(self):
        pass

    def isSet(self):
        return False


class TestLauncher(Launcher):
    """Our launcher, with the lock by which Zuul's tests hold it up."""

    # For pytest, which goes by names.
    __test__ = False
    _start_cleanup = True
    running = set()

    def __init__(self, *args, **kwargs):
        # Zuul has another one for a turn of its main loop.
        self._test_lock = self._run_lock = WorkLock()
        super().__init__(*args, **kwargs)
        self._provider_quota_cache = {}
        submit = self.pools.submit
        self.pools.submit = (
            lambda endpoint, function, done, description, delay=0: submit(
                endpoint, self._test_lock.during(function),
                self._test_lock.during(done), description, delay))

    # By the names that Zuul's launcher has for them.

    # A thread of Zuul's sleeps until one of these is set; ours need no such
    # thing.
    wake_event = layout_updated_event = upload_deleted_event = Unheard()

    @property
    def local_layout_state(self):
        return self.layouts.states

    @property
    def tenant_providers(self):
        return {name: list(providers.values()) for name, providers
                in self.layouts.scope.by_tenant.items()}

    @property
    def image_build_registry(self):
        return self.image_records.builds

    @property
    def image_upload_registry(self):
        return self.image_records.uploads

    @property
    def cleanup_worker(self):
        return types.SimpleNamespace(_run=self._cleanUp)

    def _getProvider(self, tenant_name, provider_name):
        return next(provider for provider in self.tenant_providers[tenant_name]
                    if provider.name == provider_name)

    def getImageExternalId(self, node, provider):
        return self.node_images.getExternalId(node, provider)

    def checkOldImages(self):
        self.image_schedule.checkSoon()

    def _runStats(self):
        self.gauges.report()

    # What the tests do with it

    def start(self):
        TestLauncher.running.add(self)
        if not self._start_cleanup:
            # What Zuul's tests have of a cloud can not tell what is in it.
            self.endpoint_reconciler.cleanup.run = lambda *args: None
        super().start()

    def _cleanUp(self):
        with contextlib.suppress(AttributeError):
            del self.endpoint_reconciler.cleanup.run
        for endpoint in self.endpoints.get().values():
            # The tests' cloud does not know this request.
            endpoint._listImportSnapshotTasks = list
            self.endpoint_reconciler.cleanUp(endpoint)

    def stop(self):
        TestLauncher.running.discard(self)
        super().stop()

    def work(self, key):
        self._test_lock.during(super().work)(key)

    def _takeOver(self, lead):
        # A test that holds up the events of this cache has replaced this
        # method, so that no launcher waits for them.  Ours has no such queue:
        # what a launcher writes is in its cache without an event.
        vars(self.api.nodes_cache).pop('waitForSync', None)
        return super()._takeOver(lead)


class WorkLock:
    """A lock that waits until nobody works, and keeps everybody from it;
    those who work do so side by side."""

    def __init__(self):
        self._condition = threading.Condition()
        self._working = 0
        self._held = False

    def __enter__(self):
        with self._condition:
            self._condition.wait_for(
                lambda: not (self._held or self._working))
            self._held = True

    def __exit__(self, *args):
        with self._condition:
            self._held = False
            self._condition.notify_all()

    def during(self, function):
        """:return: a function that is not called while the lock is held."""
        @functools.wraps(function)
        def wrapper(*args):
            with self._condition:
                self._condition.wait_for(lambda: not self._held)
                self._working += 1
            try:
                return function(*args)
            finally:
                with self._condition:
                    self._working -= 1
                    self._condition.notify_all()
        return wrapper


class SQLiteFixture(fixtures.Fixture):
    """In place of Zuul's ``MySQLSchemaFixture``; the parameters are its.

    :ivar str dburi: where the database is.
    """

    def __init__(self, test_id, random_databases, delete_databases):
        super().__init__()

    def _setUp(self):
        directory = self.useFixture(fixtures.TempDir(
            rootdir=os.environ['ZUUL_TEST_ROOT'])).path
        self.dburi = f'sqlite:///{directory}/zuul.sqlite'


def wrapSetupConfig(setup, ansible_root):
    @functools.wraps(setup)
    def wrapper(self, config_file):
        config = setup(self, config_file)
        # The tests make their launchers themselves.
        config.set('launcher', 'embedded', 'false')
        config.set('executor', 'ansible_root', ansible_root)
        # The tests count builds, and Zuul's launcher requests none by itself.
        config.set('launcher', 'image_settle_time', str(NEVER))
        return config
    return wrapper


def pytest_addoption(parser):
    group = parser.getgroup('upstream')
    group.addoption('--stock', action='store_true',
                    help="with Zuul's own classes")
    group.addoption('--ansible-root', help='where Ansible is')
    group.addoption('--without', action='append', default=[],
                    help='a test not to run, as Class.test')
    group.addoption('--outcomes', help='write outcomes here, a JSON file')
    group.addoption('--logs', help='write a log of each failure here')


def pytest_configure(config):
    if hasattr(config, 'workerinput') or not config.getoption('numprocesses'):
        _adapt(config)
    if not hasattr(config, 'workerinput'):
        config.pluginmanager.register(Recorder(
            config.getoption('outcomes'), config.getoption('logs')))


def pytest_collection_modifyitems(config, items):
    for item in items:
        if getName(item.nodeid) in config.getoption('without'):
            item.add_marker(pytest.mark.skip)


def pytest_runtest_teardown():
    # A test that has failed may have left some, which would disturb others.
    for launcher in list(TestLauncher.running):
        with contextlib.suppress(Exception):
            launcher.stop()
            launcher.join()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    # Zuul's fake sockets say that they are the standard output, which some
    # tests have polled.  It is a file here, for which that does not work;
    # the standard error is a pipe.
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        return (yield)
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def getName(node_id):
    """:return: what expected.yaml calls a test: Class.test."""
    return node_id.partition('::')[2].replace('::', '.')


def _adapt(config):
    """Change what Zuul's tests work with, before they are imported."""
    loopback.guard()
    stock = config.getoption('stock')
    if not stock and not plugin.install():
        raise pytest.UsageError('the plugin does not enter Zuul')
    base = importlib.import_module('tests.base')
    base.MySQLSchemaFixture = SQLiteFixture
    base.ZuulTestCase.setup_config = wrapSetupConfig(
        base.ZuulTestCase.setup_config, config.getoption('ansible_root'))
    if not stock:
        base.TestLauncher = TestLauncher


class Recorder:
    """Keeps what comes of each test.

    :param path: of the file for test -> outcome.
    :param logs: the directory for what failed tests have to say.
    """

    def __init__(self, path, logs):
        self.path = path
        self.logs = logs
        self.outcomes = {}

    def pytest_runtest_logreport(self, report):
        name = getName(report.nodeid)
        # Each test has three phases; the worst of them counts.
        if report.failed:
            self.outcomes[name] = 'failed'
            with open(os.path.join(self.logs, f'{name}.log'), 'a',
                      errors='replace') as log:
                log.write(report.longreprtext + '\n')
        elif report.skipped:
            self.outcomes.setdefault(name, 'skipped')
        elif report.when == 'call':
            self.outcomes.setdefault(name, 'passed')

    def pytest_sessionfinish(self):
        with open(self.path, 'w') as outcomes:
            json.dump(self.outcomes, outcomes)
