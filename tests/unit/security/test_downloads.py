"""Where the launcher gets images from, whose URLs jobs write."""

import http.server
import logging
import socket
import ssl
import threading

import pytest
import requests

from tests.fixtures.ending import endWith
from tests.fixtures.fileserver import FileServer, makeDiskSpace, makePace
from tests.fixtures.images import IMAGE
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.openstack.sites import NAME, getTags
from zuul_nodes.drivers import addresses
from zuul_nodes.launcher.images import artifacts, ranges, web
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.certificates import Certificates

NAMED = 'images.example.com'
PRIVATE = [
    'localhost', '127.0.0.1', '127.1', '0x7f.1', '2130706433', '0177.0.0.1',
    '127.0.0.1.', '0.0.0.0', '0', '[::]', '[::1]', '[::ffff:127.0.0.1]',
    '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '10.0.0.1',
    '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254',
    '[fe80::1]', '[fd00:ec2::254]', '[fec0::1]', '224.0.0.1', '[ff02::1]',
    '240.0.0.1', '255.255.255.255', '168.63.129.16', '127%2e0%2e0%2e1']
BOUND = '"image_sources" in the section "launcher" of zuul.conf'


@pytest.fixture
def port():
    return ports.freePort()


@pytest.fixture
def victim(request, port):
    """A service that is not meant for images."""
    server = endWith(request, FileServer('127.0.0.2', port))
    server.files['image'] = b'private'
    return server


@pytest.fixture
def server(request, port):
    """At another address, with the same port."""
    server = endWith(request, FileServer('127.0.0.1', port))
    server.files['image'] = IMAGE
    return server


@pytest.fixture
def resolve(monkeypatch):
    """:return: a function that says what a name has for addresses, once
        after the other; the last stays."""
    real = socket.getaddrinfo
    names = {}

    def getaddrinfo(host, *args, **kwargs):
        if host in names:
            found = names[host]
            host = found.pop(0) if len(found) > 1 else found[0]
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, 'getaddrinfo', getaddrinfo)
    return lambda name, *found: names.update({name: list(found)})


@pytest.fixture
def connections(monkeypatch):
    """:return: a list of the hosts to which there was a connection."""
    made = []
    real = socket.socket.connect

    def connect(self, address):
        made.append(address[0])
        return real(self, address)

    monkeypatch.setattr(socket.socket, 'connect', connect)
    return made


@pytest.fixture
def download(tmp_path):
    def download(url, sources=None):
        target = tmp_path / 'image'
        artifacts.download(
            web.Source(url, addresses.ImageSources(sources)), target,
            lambda: None, makeDiskSpace(tmp_path),
            makePace())
        return target.read_bytes()
    return download


def getUrl(server, host, path='/image'):
    return f'http://{host}:{server.server_address[1]}{path}'


# Addresses

@pytest.mark.parametrize('host', PRIVATE)
def test_a_job_cannot_have_what_is_not_public(
        download, server, connections, host):
    with pytest.raises(addresses.RefusedError):
        download(getUrl(server, host))
    assert not connections


@pytest.mark.parametrize('host', [
    '127.0.0.1', '10.1.2.3', '::ffff:10.0.0.1', '169.254.169.254', '::1'])
def test_a_name_cannot_stand_for_what_is_not_public(
        download, server, resolve, connections, host):
    resolve(NAMED, host)
    with pytest.raises(addresses.RefusedError, match=BOUND) as info:
        download(getUrl(server, NAMED))
    assert not connections
    # It would tell jobs of internal names.
    assert host not in str(info.value)


def test_a_launcher_is_not_public(monkeypatch):
    address = addresses.readAddress('8.8.8.8')
    assert addresses.isPublic(address)
    monkeypatch.setattr(addresses, 'getOwnAddresses', lambda: {address})
    assert not addresses.isPublic(address)


@pytest.mark.parametrize('address', [
    '8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'])
def test_what_is_public_is_allowed(address):
    assert addresses.isPublic(addresses.readAddress(address))
    for sources in None, 'public', f'{address},other':
        addresses.ImageSources(sources).check(
            f'https://[{address}]/x' if ':' in address
            else f'https://{address}/x')


def test_a_name_cannot_lead_elsewhere_once_it_was_looked_at(
        download, server, victim, resolve, connections):
    """It has another address each time."""
    resolve(NAMED, '127.0.0.1', '127.0.0.2')
    server.breaks = [1]
    with pytest.raises(addresses.RefusedError):
        download(getUrl(server, NAMED), '127.0.0.1')
    assert connections == ['127.0.0.1']
    assert not victim.requests
    assert server.requests


def test_a_name_may_have_other_addresses_besides(
        download, server, victim, monkeypatch, connections):
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, 'getaddrinfo', lambda host, *args, **kwargs: [
            info for address in (
                ('127.0.0.2', '127.0.0.1') if host == NAMED else (host,))
            for info in real(address, *args, **kwargs)])
    assert download(getUrl(server, NAMED), '127.0.0.1') == IMAGE
    assert set(connections) == {'127.0.0.1'}


# Redirects

class Redirector(http.server.BaseHTTPRequestHandler):
    """Sends those who ask for something to elsewhere."""

    def do_GET(self):
        self.send_response(302)
        self.send_header('Location', self.server.target)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def redirect(request):
    """:return: a function of where to; gives a URL."""
    def start(target):
        server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), Redirector)
        server.target = target
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,))
        thread.start()

        def end():
            server.shutdown()
            thread.join()
            server.server_close()
        request.addfinalizer(end)
        return f'http://127.0.0.1:{server.server_port}/image'
    return start


@pytest.mark.parametrize('sources', ['127.0.0.1', 'public,127.0.0.1'])
def test_a_redirect_cannot_lead_elsewhere(
        download, redirect, victim, sources):
    with pytest.raises(addresses.RefusedError, match=BOUND):
        download(redirect(f'{victim.url}/image'), sources)
    assert not victim.requests


def test_a_redirect_may_lead_to_what_is_listed(download, redirect, server):
    url = redirect(f'{server.url}/image')
    assert download(url, '127.0.0.0/8') == IMAGE


# What the operator lists

@pytest.mark.parametrize('sources', [
    NAMED, 'IMAGES.example.com.', f'other, {NAMED}', '127.0.0.1',
    '127.0.0.0/30', f'http://{NAMED}:PORT', f'http://{NAMED}:PORT/',
    f'http://{NAMED}:PORT/zuul', f'http://{NAMED}:PORT/zuul/'])
def test_images_come_from_where_the_operator_says(
        download, server, resolve, sources):
    resolve(NAMED, '127.0.0.1')
    sources = sources.replace('PORT', str(server.server_address[1]))
    url = getUrl(server, NAMED, '/zuul/image')
    assert download(url, sources) == IMAGE
    with pytest.raises(addresses.RefusedError, match=BOUND):
        download(url.replace(NAMED, '127.0.0.2'), sources.replace('/30', ''))


@pytest.mark.parametrize('url', [
    'http://h/b/x', 'https://h/b', 'https://h/bb/x', 'https://h/c',
    'https://h:444/b/x', 'https://h/b/../c', 'https://h/b/%2e%2e/c',
    'https://h/b/..%2fc', 'https://h/b/..%5cc', 'https://h/b/./x',
    'https://h/B/x', 'https://h.example.com/b/x', 'https://h%2fb/b/x',
    'https://user@h/b/x'])
def test_the_beginning_of_a_url_is_all_of_its_directory(url):
    sources = addresses.ImageSources('https://h/b/')
    for good in 'https://h/b/x', 'https://H:443/b/', 'https://h./b/x?y=..':
        assert sources.check(good)
    with pytest.raises(addresses.RefusedError):
        sources.check(url)


def test_a_listed_directory_does_not_make_its_host_public(
        download, server, resolve):
    resolve(NAMED, '127.0.0.1')
    sources = 'public,' + getUrl(server, NAMED, '/zuul')
    assert download(getUrl(server, NAMED, '/zuul/image'), sources) == IMAGE
    with pytest.raises(addresses.RefusedError, match=BOUND):
        download(getUrl(server, NAMED, '/private/image'), sources)


@pytest.mark.parametrize('entry', [
    '10.0.0.0/33', 'a b!', 'ftp://h/', 'https://h/?x', 'https://', '*.h'])
def test_an_entry_that_is_none_is_an_error(entry):
    with pytest.raises(ValueError):
        addresses.ImageSources(entry)


def test_nothing_can_be_had_if_nothing_is_listed():
    with pytest.raises(addresses.RefusedError):
        addresses.ImageSources('').check('https://8.8.8.8/x')


def test_an_ipv6_address_is_connected_to(request, download, monkeypatch):
    monkeypatch.setattr(FileServer, 'address_family', socket.AF_INET6)
    server = endWith(request, FileServer('::1'))
    server.files['image'] = IMAGE
    assert download(getUrl(server, '[::1]'), '::1') == IMAGE


# TLS

@pytest.fixture
def secure(server, tmp_path, monkeypatch):
    """The server, with a certificate for "localhost" that is trusted."""
    certificates = Certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server_pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    monkeypatch.setenv('REQUESTS_CA_BUNDLE', str(certificates.ca))
    return server


def test_a_certificate_is_for_the_name(download, secure, resolve):
    url = getUrl(secure, 'localhost').replace('http:', 'https:')
    assert download(url, '127.0.0.1') == IMAGE
    resolve(NAMED, '127.0.0.1')
    with pytest.raises(requests.exceptions.SSLError, match=NAMED):
        ranges.Part(web.Source(
            url.replace('localhost', NAMED),
            addresses.ImageSources('127.0.0.1')), 0, None, None)


# Proxies

@pytest.fixture
def proxy(request, monkeypatch):
    """One that says what it has itself, whatever it is asked for."""
    proxy = endWith(request, FileServer('127.0.0.3'))
    proxy.files['image'] = IMAGE
    monkeypatch.setenv('http_proxy', proxy.url)
    monkeypatch.delenv('no_proxy', raising=False)
    monkeypatch.delenv('NO_PROXY', raising=False)
    return proxy


@pytest.mark.parametrize('sources', [None, NAMED])
def test_a_proxy_looks_names_up(download, proxy, monkeypatch, sources):
    assert download(f'http://{NAMED}/image', sources) == IMAGE
    assert {path for _, path, _ in proxy.requests} == {
        f'http://{NAMED}/image'}


@pytest.mark.parametrize('sources, host', [
    (None, '127.0.0.1'), (None, '0x7f.1'), ('other', NAMED),
    # The address of the name is not known here.
    ('192.0.2.0/24', NAMED)])
def test_a_proxy_is_asked_for_nothing_else(download, proxy, sources, host):
    with pytest.raises(addresses.RefusedError, match=BOUND):
        download(f'http://{host}/image', sources)
    assert not proxy.requests


# What becomes of it

@pytest.fixture
def launcher(image_launcher):
    image_launcher.change(image_sources=addresses.ImageSources())
    image_launcher.queue.start()
    return image_launcher


@pytest.mark.parametrize('prefix', ['', 'user:secret@'])
def test_a_refused_image_fails_for_good_and_says_why(
        launcher, server, caplog, prefix):
    caplog.set_level(logging.DEBUG, 'zuul')
    url = server.url.replace('://', f'://{prefix}')
    artifact = launcher.addArtifact(
        state=None, url=f'{url}/image?token=secret')
    first = launcher.addUpload(artifact)
    launcher.setState(artifact, 'ready')
    launcher.waitForUploads('failed')
    upload, = launcher.getUploads()
    # It was not replaced by one that is begun again at once.
    assert upload.uuid == first.uuid
    assert upload.attempt == Settings.upload_attempts - 1
    assert not server.requests
    error, = [record.getMessage() for record in caplog.records
              if record.levelno == logging.ERROR]
    assert (BOUND if not prefix else 'a user or a password') in error
    assert 'secret' not in caplog.text


def test_a_driver_may_have_what_the_launcher_may_not(launcher, server):
    """It asks its own cloud only."""
    def downloadUrl(url, path):
        with open(path, 'wb') as file:
            file.write(IMAGE)
        return path
    launcher.getProvider('rack')._set(downloadUrl=downloadUrl)
    artifact = launcher.addArtifact(
        state=None, url=f'{server.url}/image')
    launcher.addUpload(artifact)
    launcher.setState(artifact, 'ready')
    launcher.waitForUploads('ready')
    assert not server.requests


def test_a_launcher_has_the_option(steps):
    sources = steps.settings.image_sources
    assert sources.check('http://127.0.0.1/x') is False
    with pytest.raises(addresses.RefusedError):
        sources.check('http://8.8.8.8/x')
    assert {driver.image_sources
            for driver in steps.connections.drivers.values()} == {sources}


@pytest.mark.parametrize('sources, is_imported', [
    (None, True), ('example.com', False), (NAMED, True),
    ('192.0.2.0/24', False)])
def test_a_cloud_downloads_what_is_listed(
        makeSite, cloud, caplog, sources, is_imported):
    caplog.set_level(logging.INFO)
    site = makeSite()
    site.provider.driver.image_sources = addresses.ImageSources(sources)
    job = site.provider.getImageImportJob(
        f'https://{NAMED}/image?token=secret', site.image, NAME, 'qcow2',
        getTags(site), 'md5', None)
    assert bool(job) == is_imported
    assert is_imported or BOUND in caplog.text
    assert 'secret' not in caplog.text


# Time

@pytest.fixture
def slow(request, image_launcher):
    """A web server that says nothing; from there and from others, images
    may be downloaded."""
    slow = endWith(request, FileServer())
    slow.answers.clear()
    image_launcher.change(
        image_sources=addresses.ImageSources('127.0.0.1'))
    image_launcher.queue.start()
    return slow


def upload(launcher, server, tenant_name='tenant'):
    """:return: the upload of a new artifact that a tenant has built."""
    artifact = launcher.addArtifact(
        state=None, url=f'{server.url}/image', build_tenant_name=tenant_name)
    added = launcher.addUpload(artifact)
    launcher.setState(artifact, 'ready')
    return added


@pytest.mark.settings(shared_place_time=0.01)
def test_a_tenant_cannot_hold_up_the_images_of_others(
        image_launcher, slow, server):
    for _ in range(3):
        upload(image_launcher, slow, 'greedy')
    waitFor(lambda: len(slow.requests) == 2)
    other = upload(image_launcher, server)
    waitFor(lambda: other.state == 'ready')
    # The third still waits for one of the first two.
    assert len(slow.requests) == 2
    slow.answers.set()


def test_a_server_cannot_take_its_time(
        image_launcher, slow, caplog):
    caplog.set_level(logging.INFO, 'zuul')
    image_launcher.change(
        image_minimum_rate=1, download_window=0.01,
        download_check_interval=0.01)
    upload(image_launcher, slow)
    image_launcher.waitForUploads('failed')
    assert caplog.text.count(
        'bytes per second of "image_minimum_rate"') >= Settings.upload_attempts
