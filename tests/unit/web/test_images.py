"""What the REST API tells of a tenant's images."""

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes import imagecontrols
from zuul_nodes.imagecontrols import Control
from zuul_nodes.imageremarks import Remarks

pytestmark = pytest.mark.usefixtures('eager')
PATH = 'zuul-nodes/images'
DEBIAN = 'example.com%2Fnodes/debian'


@pytest.fixture
def launcher(image_launcher):
    """Before zuul-web, whose seams it does without."""
    return image_launcher


@pytest.fixture
def ask(launcher, web):
    """:return: a function that returns what is told of the image debian."""
    def ask(tenant='tenant'):
        service = web.service
        for registry, cache in (
                (service.image_build_registry, launcher.builds),
                (service.image_upload_registry, launcher.uploads)):
            waitFor(lambda registry=registry, cache=cache: {
                each.uuid: each.state for each in registry.getItems()} == {
                    each.uuid: each.state for each in cache.getItems()})
        status, answer = web.ask(PATH, tenant=tenant)
        assert status == 200
        assert [each['name'] for each in answer] == ['debian', 'fedora']
        return answer[0]
    return ask


def test_upload_in_service(launcher, ask):
    upload = launcher.addReady('image', timestamp=7)
    told = ask()
    assert told | {'builds': []} == {
        'name': 'debian', 'canonical_name': DEBIAN, 'paused': None,
        'problem': None, 'total': 1, 'builds': []}
    assert told['builds'] == [{
        'uuid': upload.artifact_uuid, 'format': 'raw', 'time': 7,
        'state': 'ready', 'kept': False, 'uploads': [{
            'uuid': upload.uuid, 'endpoint': upload.endpoint_name,
            'time': 7, 'state': 'ready', 'validated': True,
            'in_service': True, 'remark': None}]}]


@pytest.mark.parametrize('attributes', [
    {'validated': None}, {'validated': False}, {'_state': 'uploading'},
    {'_state': 'deleting'}])
def test_upload_that_is_not_in_service(launcher, ask, attributes):
    launcher.addReady('image', **attributes)
    (build,) = ask()['builds']
    assert not build['uploads'][0]['in_service']


def test_new_build_is_shown_to_the_tenant_that_has_built_it(launcher, ask):
    launcher.addArtifact()
    assert [each['uploads'] for each in ask()['builds']] == [[]]
    assert ask('other')['builds'] == []


def test_uploads_for_providers_of_others_are_not_shown(launcher, ask):
    launcher.addReady('image', providers=['example.com%2Fnodes/secret'],
                      config_hash='other', endpoint_name='cloud/secret')
    assert [each['uploads'] for each in ask()['builds']] == [[]]
    assert ask('other')['builds'] == []


def test_tenant_without_provider_sees_and_deletes_what_it_has_built(
        launcher, ask, web, monkeypatch):
    """It builds the image for others."""
    monkeypatch.setitem(web.service.tenant_providers, 'other', [])
    artifact = launcher.addArtifact(build_tenant_name='other')
    launcher.addUpload(artifact)
    (build,) = ask('other')['builds']
    assert (build['uuid'], build['uploads']) == (artifact.uuid, [])
    path = f'image-build-artifact/{artifact.uuid}'
    assert web.ask(path, 'DELETE', tenant='tenant')[0] == 404
    assert web.ask(path, 'DELETE', tenant='other') == (204, None)
    waitFor(lambda: launcher.builds.getItem(
        artifact.uuid).state == 'deleting')


def test_newest_builds_come_first_and_older_ones_are_counted(
        launcher, ask, monkeypatch):
    monkeypatch.setattr('zuul_nodes.web.imageviews.MOST_BUILDS', 2)
    for number in range(3):
        launcher.addReady(f'image-{number}', timestamp=number + 1)
    told = ask()
    assert told['total'] == 3
    assert [each['time'] for each in told['builds']] == [3, 2]


def test_what_operators_and_launchers_have_noted(launcher, site, ask):
    upload = launcher.addReady('image')
    imagecontrols.add(site.client, Control.PAUSED, DEBIAN, 'a bad mirror')
    imagecontrols.add(site.client, Control.KEPT, upload.artifact_uuid, '')
    Remarks(site.client).setRemark(upload.uuid, 'no route to 10.0.0.5')
    told = ask()
    assert told['paused'] == 'a bad mirror'
    (build,) = told['builds']
    assert build['kept'] is True
    assert build['uploads'][0]['remark'] == 'no route to [address]'


def test_why_an_image_has_no_build(ask):
    assert 'no tenant builds it' in ask()['problem']
