"""What no provider needs any more is kept for a while."""

import pytest
from zuul.launcher.server import ProviderNodeError

from tests.fixtures.imagetenants import (
    addUpload,
)
from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.waiting import waitFor
from zuul_nodes import unneededimages
from zuul_nodes.launcher.providers import Scope


@pytest.fixture
def launcher(image_launcher):
    image_launcher.setLayout(None)
    return image_launcher


def loseImage(launcher, *tenants):
    """They have the pipelines, and not the image."""
    for tenant in tenants:
        launcher.pipelines.publish(
            tenant=tenant, pipelines=PIPELINES, images={})


@pytest.mark.settings(unneeded_image_delay=0)
def test_build_stays_while_providers_of_other_projects_have_the_image(
        launcher, write, retire):
    write('a rack bvd, b rack -, c other -')
    addUpload(launcher, 'a', 'rack', validated=True, external_id='one')
    addUpload(launcher, 'c', 'other', validated=True, external_id='two')
    loseImage(launcher, 'a', 'b', 'c')
    assert sorted(retire()) == ['one', 'two']
    write('c - -')
    loseImage(launcher, 'c')
    assert retire() == ['one']


def test_delay_is_counted_from_the_record(launcher, write, retire):
    """Of whichever launcher."""
    write('a rack bvd')
    upload = addUpload(launcher, 'a', 'rack', validated=True)
    write('a - bvd')
    assert retire() == ['image']
    keys = {upload.uuid, upload.artifact_uuid}
    assert launcher.records.unneeded.get() == keys
    client = launcher.zk_client.client
    waitFor(lambda: unneededimages.getAge(client, upload.uuid) > 0.1)
    launcher.change(unneeded_image_delay=0.1)
    launcher.images.retention._unneeded.clear()
    launcher.images.retention.reconcile()
    waitFor(lambda: not launcher.getUploads())


def test_record_goes_when_the_image_is_needed_again(
        launcher, write, retire, caplog):
    write('a rack bvd')
    upload = addUpload(launcher, 'a', 'rack', validated=True)
    write('a - bvd')
    retire()
    assert caplog.text.count('No provider of any tenant needs') == 2
    write('a rack bvd')
    launcher.change(unneeded_image_delay=0)
    assert retire() == ['image']
    waitFor(lambda: not launcher.records.unneeded.get())
    assert upload.state == 'ready'


@pytest.mark.settings(unneeded_image_delay=0)
def test_upload_at_an_endpoint_that_is_gone_gives_one_hint(
        launcher, write, retire, caplog):
    write('a rack bvd, b other -')
    addUpload(launcher, 'b', 'other', validated=True)
    write('b - -')

    def findFormer(place):
        raise ProviderNodeError(f'endpoint {place[1]} cannot be used')
    launcher.scope = Scope(launcher.tenant_providers, findFormer=findFormer)
    assert 'other/other' not in launcher.endpoints
    for _ in range(3):
        assert retire() == ['image']
    assert caplog.text.count('images forget') == 1
    assert 'endpoint other cannot be used' in caplog.text
    assert 'Traceback' not in caplog.text
