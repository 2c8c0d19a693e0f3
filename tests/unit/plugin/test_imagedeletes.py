"""What zuul-web deletes of images, and what it keeps."""

import pytest

from tests.fixtures.waiting import waitFor
from tests.unit.launcher.conftest import image_launcher

__all__ = ['image_launcher']


@pytest.fixture
def delete(image_launcher, web):
    """:return: a function that has an upload or its build deleted; returns
        the status and what the answer says."""
    def delete(what, upload, query='', tenant='tenant'):
        for registry, cache in (
                (web.service.image_build_registry, image_launcher.builds),
                (web.service.image_upload_registry, image_launcher.uploads)):
            waitFor(lambda registry=registry, cache=cache:
                    readStates(registry) == readStates(cache))
        path = {'build': f'image-build-artifact/{upload.artifact_uuid}',
                'upload': f'image-upload/{upload.uuid}'}[what]
        return web.ask(path + query, 'DELETE', tenant)
    return delete


def getStates(launcher):
    return readStates(launcher.uploads)


def readStates(cache):
    return {getattr(record, 'external_id', record.uuid): record.state
            for record in cache.getItems()}


def test_other_builds_stay_in_service(image_launcher, delete):
    launcher = image_launcher
    launcher.addReady('old', timestamp=1)
    bad = launcher.addReady('bad', timestamp=2)
    launcher.addReady('other', 'debian', 'other', timestamp=3)
    assert delete('build', bad) == (204, None)
    waitFor(lambda: getStates(launcher) == {
        'old': 'ready', 'bad': 'deleting', 'other': 'ready'})
    launcher.images.reconcile()
    waitFor(lambda: set(getStates(launcher)) == {'old', 'other'})


@pytest.mark.parametrize('what', ['build', 'upload'])
@pytest.mark.parametrize('query', ['', '?force=true'])
def test_nobody_deletes_what_another_tenant_has_built(
        image_launcher, delete, what, query):
    upload = image_launcher.addReady('image')
    status, answer = delete(what, upload, query, tenant='other')
    assert status == 404
    assert 'not found in tenant' in answer
    assert getStates(image_launcher) == {'image': 'ready'}


@pytest.mark.parametrize('what', ['build', 'upload'])
@pytest.mark.parametrize('query', [
    '', '?force=false', '?force=', '?force=true&force=true'])
def test_the_last_in_service_stays(image_launcher, delete, what, query):
    launcher = image_launcher
    last = launcher.addReady('last')
    # None of these takes its place.
    launcher.addReady('elsewhere', 'debian', 'other')
    launcher.addReady('unvalidated', validated=None)
    launcher.addReady('pending', _state='pending')
    launcher.addReady('fedora', 'fedora')
    launcher.setState(launcher.builds.getItem(
        launcher.addReady('leaving').artifact_uuid), 'deleting')
    status, answer = delete(what, last, query)
    assert status == 409
    assert ('Nothing else of the image debian is in service at '
            f'{last.endpoint_name}: without it, jobs get no nodes there'
            in answer)
    assert '?force=true' in answer
    # The web UI shows the first line alone.
    assert '409 Nothing else is in service' in answer
    assert getStates(launcher)['last'] == 'ready'


@pytest.mark.parametrize('what', ['build', 'upload'])
def test_the_last_in_service_goes_if_a_user_insists(
        image_launcher, delete, what):
    upload = image_launcher.addReady('last')
    assert delete(what, upload, '?force=true') == (204, None)
    waitFor(lambda: getStates(image_launcher) == {'last': 'deleting'})


@pytest.mark.parametrize('what', ['build', 'upload'])
def test_what_is_not_in_service_goes(image_launcher, delete, what):
    upload = image_launcher.addReady('new', validated=None)
    assert delete(what, upload) == (204, None)
    waitFor(lambda: getStates(image_launcher) == {'new': 'deleting'})


def test_a_build_of_which_another_is_in_service_goes(image_launcher, delete):
    launcher = image_launcher
    old = launcher.addReady('old', timestamp=1)
    launcher.addReady('new', timestamp=2)
    assert delete('upload', old) == (204, None)
    waitFor(lambda: getStates(launcher) == {'old': 'deleting', 'new': 'ready'})


@pytest.mark.parametrize('what', ['image-build-artifact', 'image-upload'])
def test_what_is_not_there(web, what):
    status, answer = web.ask(f'{what}/1234', 'DELETE')
    assert status == 404
    assert 'not found in tenant' in answer


def test_only_administrators_delete(image_launcher, web, delete, monkeypatch):
    """As with Zuul's own route."""
    monkeypatch.setattr('zuul.web.ZuulWebAPI._isAuthorized',
                        lambda *args: (True, False))
    upload = image_launcher.addReady('image')
    assert delete('build', upload, '?force=true')[0] == 403
    assert getStates(image_launcher) == {'image': 'ready'}
