"""Who deletes a build of an image by zuul-web deletes that build."""

import logging
import types

import cherrypy
import pytest
from zuul.web import ZuulWebAPI

from tests.fixtures.waiting import waitFor
from tests.unit.launcher.conftest import image_launcher
from zuul_nodes.plugin import seams

__all__ = ['image_launcher']
ATTRIBUTE = 'ZuulWebAPI.image_build_artifact_delete'


@pytest.fixture
def delete(image_launcher):
    """:return: what the route calls, as an administrator of the tenant."""
    seam, = (each for each in seams.SEAMS if each.attribute == ATTRIBUTE)
    api = ZuulWebAPI.__new__(ZuulWebAPI)
    api.zuulweb = types.SimpleNamespace(
        log=logging.getLogger('zuul.web'),
        image_build_registry=image_launcher.image_build_registry,
        image_upload_registry=image_launcher.image_upload_registry,
        createZKContext=image_launcher.createZKContext)
    function = seam.wrap(seam.original, None)
    return lambda tenant, artifact_id: function(
        api, tenant, types.SimpleNamespace(name=tenant),
        types.SimpleNamespace(uid='somebody'), artifact_id)


def getStates(launcher):
    return {upload.external_id: upload.state
            for upload in launcher.getUploads()}


def test_other_builds_stay_in_service(image_launcher, delete):
    launcher = image_launcher
    launcher.addReady('old', timestamp=1)
    bad = launcher.addReady('bad', timestamp=2)
    launcher.addReady('other', 'debian', 'other', timestamp=3)
    delete('tenant', bad.artifact_uuid)
    waitFor(lambda: getStates(launcher) == {
        'old': 'ready', 'bad': 'deleting', 'other': 'ready'})
    launcher.images.reconcile()
    waitFor(lambda: set(getStates(launcher)) == {'old', 'other'})


def test_nobody_deletes_what_another_tenant_has_built(image_launcher, delete):
    upload = image_launcher.addReady('image')
    with pytest.raises(cherrypy.HTTPError, match='not found in tenant'):
        delete('other', upload.artifact_uuid)
    assert getStates(image_launcher) == {'image': 'ready'}


def test_the_route_is_as_zuuls():
    """With its permission, and in its audit log."""
    seam, = (each for each in seams.SEAMS if each.attribute == ATTRIBUTE)
    wrapped = seam.wrap(seam.original, None)
    assert wrapped.exposed
    assert wrapped._cp_config == seam.original._cp_config
    assert wrapped._cp_config['tools.check_tenant_auth.permission'] == (
        'delete-image-build-artifact')
