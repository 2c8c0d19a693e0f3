"""Whatever a tenant writes for any attribute of any cloud: it does not change
whom a driver contacts, what it reads, or which argument of a library it is.

The interpreter itself tells of each name that is looked up, each connection
and each file: https://docs.python.org/3/library/audit_events.html
"""

import contextlib
import functools
import json
import pathlib
import socket
import sys

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import pytest
import requests
import yaml

from tests.fixtures.examples import countExamples
from tests.unit.drivers.aws import sites as aws_sites
from tests.unit.drivers.gce import sites as gce_sites
from tests.unit.drivers.openstack import nodesites
from zuul_nodes.configloader.objects.stanzas import PARSERS

EXAMPLES = pathlib.Path(__file__).parents[3] / 'doc/source/examples/attributes'
KINDS = {'images': 'image-defaults', 'flavors': 'flavor-defaults',
         'labels': 'label-defaults'}
# What they are called, and what belongs to what.
NAMES = {'name', 'parent', 'connection', 'section', 'abstract', 'description',
         *PARSERS, *KINDS, *KINDS.values()}
HOST = 'tenant.invalid'
# Bytes of an image.
SIZE = 512
TRAP = 'TRAP'
SECRET = 'SECRET'
TEXTS = (
    f'http://127.0.0.1:{TRAP}/', f'127.0.0.1:{TRAP}', f'@127.0.0.1:{TRAP}/',
    f'x?url=http://127.0.0.1:{TRAP}/#', f'//127.0.0.1:{TRAP}/', HOST,
    f'https://{HOST}/x', f'a\r\nHost: {HOST}', SECRET, f'file://{SECRET}',
    f'@{SECRET}', '../../..' + SECRET, '{{ lookup("file", "SECRET") }}')
# Of libraries; what they could be taken for.
ARGUMENTS = (
    'self', 'cls', 'session', 'client', 'base_path', 'endpoint_override',
    'endpoint_url', 'api_endpoint', 'host', 'url', 'headers', 'filename',
    'path', 'body', 'data', 'request', 'project', 'region', 'zone', 'name',
    'namespace', 'timeout', 'default', 'async_req', '_request_timeout')


class Watch:
    """What the interpreter tells of, as far as it is a tenant's.

    :ivar list seen: of what should not be.
    """

    def __init__(self):
        self.seen = None
        self.words = ()
        sys.addaudithook(self._hear)

    @contextlib.contextmanager
    def watch(self, *words):
        self.words, self.seen = words, []
        try:
            yield self.seen
        finally:
            self.words, self.seen = (), None

    def _hear(self, event, args):
        if self.seen is None or event not in (
                'open', 'socket.connect', 'socket.getaddrinfo',
                'socket.gethostbyname', 'subprocess.Popen', 'os.listdir'):
            return
        about = repr(args[:2] if event == 'open' else args[:3])
        if any(word in about for word in self.words):
            self.seen.append((event, about))


# There is no way to be rid of one.
getWatch = functools.cache(Watch)


@pytest.fixture
def watch():
    return getWatch().watch


@pytest.fixture
def trap():
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / 'hidden' / 'secret'
    path.parent.mkdir()
    path.write_text('a secret')
    return path


@pytest.fixture
def image(tmp_path):
    path = tmp_path / 'image'
    path.write_bytes(bytes(SIZE))
    return str(path)


def readCases(driver):
    """:return: a list of attributes with hostile values: of what, its name,
        and the value."""
    cases = {}
    for stanza in yaml.safe_load((EXAMPLES / f'{driver}.yaml').read_text()):
        for kind in ('section', 'provider'):
            for of, name, value in findAttributes(stanza.get(kind, {})):
                for hostile in spoil(value):
                    cases[repr((of, name, hostile))] = of, name, hostile
    return list(cases.values())


def findAttributes(stanza):
    """:return: yields of what it is, the name, and the value."""
    for name, value in stanza.items():
        if name not in NAMES:
            yield 'section', name, value
    for kind, defaults in KINDS.items():
        entries = [each for each in stanza.get(kind, ())
                   if isinstance(each, dict)]
        for entry in (*entries, stanza.get(defaults, {})):
            for name, value in entry.items():
                if name not in NAMES:
                    yield kind, name, value


def spoil(value):
    """:return: yields values with one hostile text in each."""
    if isinstance(value, dict):
        for key, part in value.items():
            for each in spoil(part):
                yield value | {key: each}
        for name in ARGUMENTS:
            yield value | {name: TEXTS[0]}
    elif isinstance(value, list):
        for each in spoil(value[0]) if value else ():
            yield [each, *value[1:]]
    elif isinstance(value, str):
        yield from TEXTS


def apply(text, case):
    """:return: what a tenant writes, with a case for all that it could be
        of."""
    of, name, value = case
    stanzas = yaml.safe_load(text)
    for stanza in stanzas:
        if of == 'section' and of in stanza:
            stanza[of][name] = value
        for kind in ('section', 'provider'):
            if of == 'section' or kind not in stanza:
                continue
            if kind == 'section':
                stanza[kind].setdefault(KINDS[of], {})[name] = value
            for entry in stanza[kind].get(of, ()):
                if isinstance(entry, dict) and name in entry:
                    entry[name] = value
    return yaml.safe_dump(stanzas)


def attempt(act, *args):
    """Most of it fails; nothing of that may be about arguments."""
    try:
        return act(*args)
    except TypeError:
        raise
    except Exception:
        return None


def ask(provider):
    for check in attempt(lambda: list(provider.getChecks())) or ():
        attempt(check.ask)


def useOpenstack(fixture, case, path):
    site = fixture('makeNodes')(apply(nodesites.LAYOUT, case))
    ask(site.provider)
    node = site.makeNode()
    attempt(site.create, node)
    attempt(site.delete, node)
    for image in site.provider.images.values():
        attempt(lambda image=image: site.provider.getImageUploadJob(
            image, 'image', 'qcow2', {}, None, None).run(path))


def useGce(fixture, case, path):
    fixture('gce').images.unit = SIZE
    site = fixture('makeGceSite')(apply(gce_sites.LAYOUT, case))
    ask(site.provider)
    for label in site.provider.labels:
        attempt(lambda label=label: site.create(label=label))
    for image in site.provider.images.values():
        attempt(lambda image=image: site.adapter.uploadImage(
            site.makeImageSpec(image=image), path))


def useAws(fixture, case, path):
    text = aws_sites.LAYOUT.replace('FLAVOR', '').replace('LABEL', '')
    site = fixture('makeAwsSite')(text=apply(text, case))
    ask(site.provider)
    node = site.makeNode()
    attempt(site.create, node)
    attempt(site.delete, node)
    for image in site.provider.images.values():
        attempt(lambda image=image: site.provider.getImageUploadJob(
            image, 'image', 'raw', {}, None, None).run(path))


def useKubernetes(fixture, case, path):
    of, name, value = case
    texts = {'images': 'image-id: debian', 'labels': 'kind: pod'}
    if of not in texts:
        return
    texts[of] = json.dumps(
        yaml.safe_load(f'{{{texts[of]}}}') | {name: value})[1:-1]
    site = fixture('makeClusterSite')(texts['labels'], texts['images'])
    ask(site.provider)
    node = site.makeNode()
    attempt(site.create, node)
    attempt(site.delete, node)


USES = {'openstack': useOpenstack, 'gce': useGce, 'aws': useAws,
        'kubernetes': useKubernetes}


@pytest.mark.hypothesis
@pytest.mark.parametrize('driver', USES)
def test_a_text_changes_nothing_but_what_it_is_for(
        driver, request, watch, trap, secret, image, monkeypatch):
    if driver == 'aws':
        pytest.importorskip('moto')
    monkeypatch.setattr(nodesites, 'PATIENCE', 1)
    cases = readCases(driver)

    def isRead(case):
        case = json.loads(json.dumps(case).replace(TRAP, str(trap)).replace(
            SECRET, str(secret)))
        with watch(f"('127.0.0.1', {trap})", HOST, str(secret)) as seen:
            try:
                USES[driver](request.getfixturevalue, case, image)
            except TypeError:
                raise
            except Exception:
                # By the schema, or by the library, as it has no such region.
                is_read = False
            else:
                is_read = True
        assert not seen
        return is_read

    read = []

    @given(st.sampled_from(cases))
    @settings(max_examples=countExamples(400), deadline=None,
              suppress_health_check=list(HealthCheck))
    def run(case):
        read.append(isRead(case))
    run()
    # By chance, a driver refuses each of a few.
    assert any(read) or any(map(isRead, cases))


def test_the_watch_sees_what_it_should(watch, trap, secret):
    """The one above can fail."""
    words = f"('127.0.0.1', {trap})", HOST, str(secret)
    with watch(*words) as seen:
        with contextlib.suppress(requests.RequestException):
            requests.get(f'http://127.0.0.1:{trap}/', timeout=0.01)
        with contextlib.suppress(OSError):
            socket.getaddrinfo(HOST, 80)
        secret.read_text()
    assert {event for event, _ in seen} == {
        'socket.connect', 'socket.getaddrinfo', 'open'}
    with watch(*words) as seen:
        pathlib.Path(__file__).read_text()
    assert not seen
