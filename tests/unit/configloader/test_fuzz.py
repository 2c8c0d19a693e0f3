"""Whatever people write is either right or an error that says so."""

import configparser
import json
import time
import traceback
import types
from unittest import mock

from hypothesis import HealthCheck, given, settings
from kazoo.protocol.paths import normpath
import pytest
import voluptuous as vs
import yaml
from zuul import model
import zuul.configloader
from zuul.exceptions import ConfigurationSyntaxError

from tests.fixtures.examples import countExamples
from tests.fixtures.layout import PARSERS, makeConnections
from tests.unit.configloader.documents import (
    CONNECTIONS,
    DRIVERS,
    documents,
    makeDocument,
    writeDocument,
)
from zuul_nodes.configloader.rules.duplicates import Duplicates
from zuul_nodes.plugin import layouts, parsers
from zuul_nodes.plugin.extensions import Extensions

# Of each kind; hypothesis may give fewer that are different.
DOCUMENTS = countExamples(2000)
ENOUGH = DOCUMENTS * 5 // 8
SECONDS = 5
CHARACTERS = 10_000
# Zuul shows some lines of the file, however long they are.
BYTES = 1_000_000
CONTEXT = model.SourceContext(
    'example.com/nodes', 'nodes', 'example', 'main', 'zuul.d/nodes.yaml')
EXTENSIONS = Extensions({}, PARSERS, {}, {'duplicates': Duplicates})


class Loader:
    """Loads a file as Zuul does, up to the providers.

    :ivar list raised: what the accumulators of errors have caught.
    """

    def __init__(self, connections):
        self.connections = types.SimpleNamespace(connections=connections)
        self.raised = []
        self.context = zuul.configloader.ParseContext.__new__(
            zuul.configloader.ParseContext)
        parsers.wrapParseContext(
            zuul.configloader.ParseContext.__init__, EXTENSIONS)(
                self.context, self.connections, None,
                types.SimpleNamespace(system_id='system'), None)
        self.tenant_parser = zuul.configloader.TenantParser(
            self.connections, mock.MagicMock(), None, None, None, None, None,
            None)

    def load(self, text):
        """:return: the layout of a tenant with this one file."""
        self.raised = []
        with self.context.errorContext(source_context=CONTEXT):
            parsed = self.tenant_parser.loadProjectYAML(
                text, CONTEXT, self.context)
        layout = self.tenant_parser._parseLayout(
            model.Tenant('tenant'), parsed, self.context)
        self.context.error_list.clear()
        return layout


@pytest.fixture(scope='module')
def loader(tmp_path_factory):
    """A :class:`Loader` with a connection of each driver."""
    clouds = tmp_path_factory.mktemp('clouds') / 'clouds.yaml'
    clouds.write_text(
        'clouds: {cloud: {auth: {auth_url: "http://localhost"}}}')
    config = configparser.ConfigParser()
    config.read_dict({
        f'connection {driver}': {'driver': driver, **attributes}
        for driver, attributes in CONNECTIONS.items()})
    connections = makeConnections(config)
    # In zuul.conf it would be a string, and taken for a list of letters.
    connections['openstack'].config_files = [str(clouds)]
    loader = Loader(connections)
    add_error = zuul.configloader.LocalAccumulator.addError

    def record(self, error):
        loader.raised.append(error)
        add_error(self, error)

    with (mock.patch.object(
            zuul.configloader.LocalAccumulator, 'addError', record),
          mock.patch.object(
              model.Layout, '_addIdenticalObject',
              layouts.wrapAddIdenticalObject(
                  model.Layout._addIdenticalObject, EXTENSIONS))):
        yield loader


def check(loader, text):
    """Load a file, and see that nothing comes of it but what may."""
    begin = time.process_time()
    layout = loader.load(text)
    for error in loader.raised:
        checkError(error)
    for error in layout.loading_errors.errors:
        json.dumps(error.serialize()).encode()
        assert len(error.error.encode()) < BYTES
    for kind in ('images', 'flavors', 'labels', 'sections',
                 'provider_configs', 'providers'):
        for each in getattr(layout, kind).values():
            checkPath(each.canonical_name)
    for provider in layout.providers.values():
        checkPath(provider.getPath())
        for kind in ('images', 'flavors', 'labels'):
            for each in getattr(provider, kind).values():
                checkPath(each.canonical_name)
        checkRecord(loader, provider)
    assert time.process_time() - begin < SECONDS
    return layout


def checkError(error):
    """An error of ours is one that says what is wrong."""
    files = [frame.filename for frame
             in traceback.extract_tb(error.__traceback__)]
    if not any('zuul_nodes/configloader' in each for each in files):
        return
    assert len(str(error)) < CHARACTERS
    # This is how Zuul's own parser of providers refuses flavors.
    assert type(error) is Exception or isinstance(
        error, ConfigurationSyntaxError | vs.Invalid | yaml.YAMLError), (
            ''.join(traceback.format_exception(error)))


def checkPath(path):
    """It can be part of a path in ZooKeeper."""
    assert normpath(f'/{path.lstrip("/")}') == f'/{path.lstrip("/")}'
    assert not {'.', '..', ''} & set(path.lstrip('/').split('/')), path
    assert path.isascii() and path.isprintable(), path


def checkRecord(loader, provider):
    """What a provider writes into ZooKeeper can be read."""
    record = provider.serialize(None)
    read = type(provider)()
    read._set(**read.deserialize(record, None, {
        'connections': loader.connections, 'system_id': 'system',
        'zk_client': mock.MagicMock()}))
    read._set(connection=provider.connection)
    # Numbers that are keys come back as strings, and in another order.
    assert json.loads(read.serialize(None)) == json.loads(record)


@pytest.mark.parametrize('driver', DRIVERS)
def test_what_is_right(loader, driver):
    layout = check(loader, writeDocument(makeDocument(driver)))
    assert not loader.raised, loader.raised[0]
    assert len(layout.providers) == 2


@pytest.mark.hypothesis
@pytest.mark.parametrize('kind', PARSERS)
def test_what_is_wrong(loader, kind):
    seen = set()

    @settings(max_examples=DOCUMENTS, derandomize=True, deadline=None,
              database=None, suppress_health_check=list(HealthCheck))
    @given(documents(kind))
    def checkMany(document):
        seen.add(document)
        check(loader, document)

    checkMany()
    count = len(seen)
    assert count >= ENOUGH
