"""The description of the REST API, against what zuul-web answers."""

import importlib.resources

from openapi_schema_validator import OAS30Validator
import openapi_spec_validator
import pytest
import yaml

from tests.fixtures.waiting import waitFor
from zuul_nodes import imagecontrols
from zuul_nodes.imagecontrols import Control
from zuul_nodes.providerstatus import Limit, Paused
from zuul_nodes.web.routes import API, ENDPOINTS

pytestmark = pytest.mark.usefixtures('eager')
DESCRIPTION = yaml.safe_load((
    importlib.resources.files('zuul_nodes.web') / 'static/openapi.yaml'
).read_text())
GET = {path.removeprefix(API): each['get']
       for path, each in DESCRIPTION['paths'].items()}


def check(path, answer):
    """Check an answer with the status 200."""
    content, = GET[path]['responses']['200']['content'].values()
    OAS30Validator({
        'allOf': [content['schema']],
        'components': DESCRIPTION['components']}).validate(answer)


def test_it_is_valid_and_has_every_endpoint():
    openapi_spec_validator.validate(DESCRIPTION)
    assert GET.keys() == ENDPOINTS.keys()


def test_requests(web, site):
    request, *_ = site.addRequests(
        {}, {'state': 'accepted'}, {'state': 'failed', 'provider_node_data': [
            {'uuid': 'a' * 32, 'reasons': {'rack': 'it is broken'}}]})
    site.explain('it is full', request)
    status, answer = web.ask('zuul-nodes/requests?limit=5&skip=0')
    assert (status, answer['total']) == (200, 2)
    check('/requests', answer)
    for each in web.service.requests_cache.getItems():
        status, answer = web.ask(f'zuul-nodes/request/{each.uuid}')
        assert status == 200
        check('/request/{uuid}', answer)


def test_providers(web, site):
    site.describe(
        limits=[Limit('endpoint', None, 'cores', 4.5, 1, 2),
                Limit('provider', 'rack', 'instances', 3)],
        pauses=[Paused(None, 9, 'it is full'), Paused('debian', 9, 'full')],
        problem='it is broken')
    site.addNodes(1, cores=2)
    status, answer = web.ask('zuul-nodes/providers')
    assert status == 200
    assert all(answer[1][key] for key in ('limits', 'pauses', 'problem'))
    check('/providers', answer)


def test_limits(web, site):
    site.limitTenant('tenant', instances=2.5)
    site.addNodes(1, tenant='tenant', cores=2)
    status, answer = web.ask('zuul-nodes/limits')
    assert (status, [each['limit'] for each in answer]) == (200, [None, 2.5])
    check('/limits', answer)


def test_images(image_launcher, web, site):
    uploads = [image_launcher.addReady('one', timestamp=1)]
    uploads.append(image_launcher.addUpload(image_launcher.addArtifact(
        state=None)))
    for upload in uploads:
        waitFor(lambda upload=upload: web.service.image_upload_registry
                .getItem(upload.uuid) and web.service.image_build_registry
                .getItem(upload.artifact_uuid))
    imagecontrols.add(site.client, Control.PAUSED,
                      uploads[0].canonical_name, '')
    status, answer = web.ask('zuul-nodes/images')
    assert (status, [each['total'] for each in answer]) == (200, [2, 0])
    check('/images', answer)


@pytest.mark.parametrize('path, answer', [
    ('/requests', {'total': 1}), ('/limits', [{}]), ('/providers', [{}]),
    ('/images', [{}]), ('/request/{uuid}', {'uuid': 1})])
def test_wrong_answers_are_found(path, answer):
    with pytest.raises(Exception, match=r'required property|not of type'):
        check(path, answer)
