"""What gets into a cloud is what the artifact says."""

import gzip
import hashlib
import io
import tarfile

import pytest

from tests.fixtures.images import IMAGE
from zuul_nodes.drivers import DriverError, PermanentError

URL = 'gs://images/disk.tar.gz'
UNIT = 1 << 9
OTHER = b'another'


def makeArchive(content):
    """:return: the bytes of what Google imports."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode='w',
                      format=tarfile.GNU_FORMAT) as tar:
        info = tarfile.TarInfo('disk.raw')
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    # Workers have to have the same one, at whatever time.
    return gzip.compress(file.getvalue(), mtime=0)


def makeChecksums(data):
    return {'md5': hashlib.md5(data).hexdigest(),
            'sha256': hashlib.sha256(data).hexdigest()}


DISK = makeArchive(bytes(UNIT))
MD5, SHA256 = makeChecksums(DISK).values()


class TestGce:
    @pytest.fixture
    def site(self, gce, makeGceSite):
        gce.images.unit = UNIT
        site = makeGceSite()
        gce.objects.create('images', 'disk.tar.gz', DISK)
        return site

    @pytest.fixture
    def importImage(self, site):
        def importImage(**checksums):
            spec = site.makeImageSpec(format='tar.gz', **checksums)
            return site.adapter.importImage(spec, URL)
        return importImage

    @pytest.fixture
    def replace(self, gce, site, monkeypatch):
        """Have somebody replace the object while it is imported."""
        call = site.adapter.client.call

        def replace(service, method, **request):
            if (service, method) == ('Images', 'insert_unary'):
                gce.objects.create('images', 'disk.tar.gz', makeArchive(
                    b'x' * UNIT))
            return call(service, method, **request)
        monkeypatch.setattr(site.adapter.client, 'call', replace)

    def test_the_object_is_imported(self, gce, importImage):
        assert gce.images.contents[importImage(**makeChecksums(DISK))]

    def test_another_object_is_not_imported(self, gce, importImage):
        with pytest.raises(PermanentError, match=(
                f'The md5 of {URL} is {makeChecksums(DISK)["md5"]}, but the '
                f'artifact has {makeChecksums(OTHER)["md5"]}')):
            importImage(**makeChecksums(OTHER))
        assert not gce.calls['images.insert']

    def test_an_object_that_is_replaced_meanwhile_is_not_kept(
            self, gce, site, importImage, replace):
        with pytest.raises(DriverError, match='has changed while'):
            importImage(**makeChecksums(DISK))
        assert gce.calls['images.delete'] == 1

    @pytest.mark.parametrize(('md5', 'sha256', 'is_imported'), [
        (None, None, True), (MD5, None, True), (MD5.upper(), SHA256, True),
        (None, SHA256, False), ('0' * 32, None, False),
        ('0' * 32, SHA256, False)])
    def test_what_google_does_not_verify_is_downloaded(
            self, site, md5, sha256, is_imported):
        """The launcher finds out what is wrong."""
        spec = site.makeImageSpec(format='tar.gz', md5=md5, sha256=sha256)
        assert site.adapter.canImport(spec, URL) is is_imported

    def test_an_object_without_md5_is_downloaded(self, gce, site):
        """It was uploaded in parts."""
        spec = site.makeImageSpec(format='tar.gz', md5=MD5)
        del gce.objects.create('images', 'disk.tar.gz', DISK)['md5Hash']
        assert not site.adapter.canImport(spec, URL)

    @pytest.mark.parametrize('url', [
        'gs://images/missing', 'gs://others/missing'])
    def test_what_is_not_there_is_not_imported(self, site, url):
        spec = site.makeImageSpec(format='tar.gz', md5=MD5)
        assert not site.adapter.canImport(spec, url)


# A launcher

@pytest.fixture
def launcher(image_launcher):
    image_launcher.change(upload_attempts=1)
    image_launcher.queue.start()
    return image_launcher


def upload(launcher, url, **attributes):
    artifact = launcher.addArtifact(state=None, url=url, **attributes)
    launcher.addUpload(artifact)
    launcher.setState(artifact, 'ready')


@pytest.mark.parametrize('value', ['true', 'false', None])
def test_zuul_conf_says_whether_checksums_are_demanded(
        request, zuul_conf, value):
    if value:
        zuul_conf.read_dict({'launcher': {'require_image_checksums': value}})
    steps = request.getfixturevalue('steps')
    assert steps.settings.require_image_checksums is (value == 'true')


def test_checksums_may_be_demanded(launcher, server, caplog):
    launcher.change(require_image_checksums=True)
    upload(launcher, f'{server.url}/image')
    launcher.waitForUploads('failed')
    assert ('/image has no checksum; with "require_image_checksums" in the '
            'section "launcher" of zuul.conf, its metadata must contain '
            '"sha256" or "md5sum"') in caplog.text
    assert server.requests == []


@pytest.mark.parametrize(('name', 'attribute'), [
    ('md5', 'md5sum'), ('sha256', 'sha256')])
def test_one_checksum_is_enough(launcher, server, name, attribute):
    launcher.change(require_image_checksums=True)
    upload(launcher, f'{server.url}/image',
           **{attribute: makeChecksums(IMAGE)[name]})
    launcher.waitForUploads('ready')


@pytest.mark.parametrize(('format', 'is_stored', 'state'), [
    ('tar.gz', True, 'ready'), ('tar.gz', False, 'ready'),
    ('raw', True, 'failed'), ('raw', False, 'ready')])
def test_a_checksum_is_of_the_format(
        launcher, server, format, is_stored, state):
    """A disk that is compressed is another format then."""
    stored = server.files['image.gz'] = gzip.compress(IMAGE)
    upload(launcher, f'{server.url}/image.gz', format=format,
           sha256=makeChecksums(stored if is_stored else IMAGE)['sha256'])
    launcher.waitForUploads(state)


@pytest.mark.parametrize('format', ['tar.gz', 'raw'])
def test_a_compressed_file_with_another_checksum_is_not_uploaded(
        launcher, server, format):
    server.files['image.gz'] = gzip.compress(IMAGE)
    upload(launcher, f'{server.url}/image.gz', format=format,
           sha256=makeChecksums(OTHER)['sha256'])
    launcher.waitForUploads('failed')
    assert launcher.clouds['rack'].calls == []
