"""Jobs are told of the image that they deal with."""

import time

from kazoo.exceptions import KazooException
import pytest
import zuul.executor.common
from zuul.model import ImageBuildArtifact, ImageUpload

from tests.unit.drivers.zuul.site import (
    DEBIAN,
    IMAGES,
    IMAGES_FILE,
    PROVIDERS,
    PROVIDERS_FILE,
    RACK,
    WHERE,
    getJob,
)

ARTIFACT = {
    'artifact_uuid': 'artifact', 'format': 'raw', 'md5sum': None,
    'sha256': '0' * 64, 'url': 'https://example.com/debian.raw?key=secret'}
DESCRIPTION = {
    **ARTIFACT, 'name': 'debian', 'formats': ['raw'],
    'upload_uuid': 'upload', 'endpoint': 'rack/rack', 'external_id': 'ami-1',
    'providers': [RACK], 'provider': RACK}


@pytest.fixture
def loaded(loadTenant):
    return loadTenant()


@pytest.fixture
def records(loaded, makeScheduler):
    """:return: the records of an artifact and an upload."""
    scheduler = makeScheduler(loaded)
    with scheduler.createZKContext(None, None) as context:
        artifact = ImageBuildArtifact.new(
            context, uuid='artifact', name='debian', canonical_name=DEBIAN,
            timestamp=time.time(), _state='ready',
            **{name: ARTIFACT[name] for name in (
                'format', 'md5sum', 'sha256', 'url')})
        upload = ImageUpload.new(
            context, uuid='upload', artifact_uuid='artifact',
            canonical_name=DEBIAN, endpoint_name='rack/rack',
            providers=['elsewhere', RACK], external_id='ami-1',
            timestamp=time.time(), _state='ready')
        yield artifact, upload, context


def getImage(loaded, item, job='build-debian'):
    params = zuul.executor.common.construct_build_params(
        '0' * 32, loaded.connections, getJob(item, job), item,
        item.manager.pipeline)
    assert params['zuul']['job'] == job
    return params['zuul'].get('image')


def makeValidate(loaded, enqueue):
    return enqueue(loaded, 'validate', loaded.driver.getImageValidateEvent(
        ['debian'], *WHERE, 'upload'))


def makeDelete(loaded, enqueue):
    return enqueue(loaded, 'delete', loaded.driver.getImageDeleteEvent(
        ['debian'], *WHERE, 'artifact'))


def test_job_that_builds_an_image(loaded, enqueue):
    item = enqueue(loaded, 'build')
    assert getImage(loaded, item) == {'name': 'debian', 'formats': ['raw']}
    assert getImage(loaded, item, 'build-fedora') == {
        'name': 'fedora', 'formats': []}
    assert getImage(loaded, item, 'other') is None


def test_event_for_one_image(loaded, enqueue):
    item = enqueue(loaded, 'build', loaded.driver.getImageBuildEvent(
        ['debian'], *WHERE))
    description = {'name': 'debian', 'formats': ['raw']}
    assert getImage(loaded, item) == description
    assert getImage(loaded, item, 'other') == description


def test_event_for_several_images(loaded, enqueue):
    item = enqueue(loaded, 'build', loaded.driver.getImageBuildEvent(
        ['fedora', 'debian'], *WHERE))
    assert getImage(loaded, item)['name'] == 'debian'
    assert getImage(loaded, item, 'other') is None


def test_change_under_review(loaded, enqueue, makeScheduler):
    makeScheduler(loaded)
    layout, _ = loaded.propose({
        IMAGES_FILE: IMAGES, PROVIDERS_FILE: PROVIDERS.replace(
            'images: [debian, stock]', 'images: [debian, stock, fedora]')})
    item = enqueue(loaded, 'build', layout=layout)
    assert getImage(loaded, item, 'build-fedora')['formats'] == ['raw']


@pytest.mark.parametrize('job', ['build-debian', 'other'])
def test_validation(loaded, records, enqueue, job):
    item = makeValidate(loaded, enqueue)
    assert getImage(loaded, item, job) == DESCRIPTION


@pytest.mark.parametrize('job', ['build-debian', 'other'])
def test_deletion(loaded, records, enqueue, job):
    item = makeDelete(loaded, enqueue)
    assert getImage(loaded, item, job) == {
        **ARTIFACT, 'name': 'debian', 'formats': ['raw']}


def test_provider_that_shares_the_upload(loaded, records, enqueue):
    _, upload, context = records
    provider = loaded.layout.providers['rack']
    upload.updateAttributes(
        context, providers=['elsewhere'],
        endpoint_name=provider.getEndpoint().canonical_name,
        config_hash=provider.images['debian'].zuul_config_hash)
    image = getImage(loaded, makeValidate(loaded, enqueue))
    assert image['providers'] == [RACK]


def test_provider_that_has_moved_does_not_have_the_upload(
        loaded, records, enqueue):
    _, upload, context = records
    upload.updateAttributes(context, endpoint_name='former/former')
    image = getImage(loaded, makeValidate(loaded, enqueue))
    assert image['providers'] == []


def test_upload_of_other_tenants_only(loaded, records, enqueue):
    _, upload, context = records
    upload.updateAttributes(context, providers=['elsewhere'])
    image = getImage(loaded, makeValidate(loaded, enqueue))
    assert (image['providers'], image['provider']) == ([], None)


@pytest.mark.parametrize('gone', [0, 1])
def test_record_that_is_gone(loaded, records, enqueue, caplog, gone):
    records[gone].delete(records[2])
    item = makeValidate(loaded, enqueue)
    assert getImage(loaded, item) == {'name': 'debian'}
    assert 'because a record does not exist any more' in caplog.text


def test_artifact_that_is_gone(loaded, records, enqueue):
    records[0].delete(records[2])
    item = makeDelete(loaded, enqueue)
    assert getImage(loaded, item) == {'name': 'debian'}


def test_process_that_is_no_scheduler(loaded, enqueue):
    # zuul-web has items that nobody works on.
    for item in (makeValidate(loaded, enqueue), makeDelete(loaded, enqueue)):
        item.manager.current_context = None
        assert getImage(loaded, item) == {
            'name': 'debian', 'formats': ['raw']}


def test_no_zookeeper(loaded, records, enqueue, monkeypatch, caplog):
    def fail(*args):
        raise KazooException('no way')
    monkeypatch.setattr(
        'zuul_nodes.drivers.zuul.variables.readRecord', fail)
    assert getImage(loaded, makeValidate(loaded, enqueue)) is None
    assert 'no way' in caplog.text
