"""The outcome of a validation gets into the record of the upload."""

import pytest

from tests.unit.drivers.zuul.site import (
    JOBS,
    JOBS_FILE,
    WHERE,
    getBuild,
    getJob,
)


@pytest.mark.parametrize('action, validated', [
    ('success', True), ('failure', False)])
def test_validation(site, action, validated):
    site.addUpload()
    item = site.makeValidation()
    if action == 'failure':
        getBuild(item)._set(result='FAILURE')
    site.report(item, action)
    upload, = site.uploads
    assert upload.validated is validated
    assert upload.build_uuid == getBuild(item).uuid
    assert upload.timestamp > 1
    assert site.artifacts == []


def test_success_with_a_build_that_failed(site):
    site.addUpload()
    item = site.makeValidation()
    getBuild(item)._set(result='FAILURE')
    site.report(item, 'success')
    upload, = site.uploads
    assert (upload.validated, upload.build_uuid) == (None, None)


@pytest.mark.parametrize('result', [
    'NODE_FAILURE', 'TIMED_OUT', 'RETRY_LIMIT', 'CANCELED', 'POST_FAILURE',
    'ERROR', None])
def test_what_is_no_verdict_refuses_no_upload(site, result):
    """The launcher has it validated once more."""
    upload = site.addUpload()
    item = site.makeValidation()
    getBuild(item)._set(result=result)
    site.report(item, 'failure')
    assert [each.validated for each in site.uploads] == [None]
    warning, = item.current_build_set.warning_messages
    assert f'of the image upload {upload.uuid} has no result' in warning
    assert str(result) in warning


@pytest.mark.parametrize('action, result', [
    ('success', 'SUCCESS'), ('failure', 'FAILURE')])
def test_a_job_without_a_node_of_the_upload_has_no_say(site, action, result):
    upload = site.addUpload()
    item = site.makeValidation(booted='another')
    getBuild(item)._set(result=result)
    site.report(item, action)
    assert [each.validated for each in site.uploads] == [None]
    warning, = item.current_build_set.warning_messages
    assert f'of the image upload {upload.uuid} has no result' in warning
    assert 'had a node that was created from it' in warning


def test_a_verdict_counts_beside_a_job_without_one(site):
    site.addUpload()
    item = site.makeValidation()
    getBuild(item)._set(result='FAILURE')
    getBuild(item, 'other')._set(result='NODE_FAILURE')
    site.report(item, 'failure')
    assert site.uploads[0].validated is False


@pytest.fixture
def several(makeSite):
    """A site with two validation jobs of the image."""
    site = makeSite({JOBS_FILE: JOBS + '''
- job: {name: try-debian, parent: base, image-build-name: debian}
- project:
    validate:
      jobs: [try-debian]
'''})
    site.addUpload()
    return site


def test_failure_of_a_job_that_does_not_vote(several):
    item = several.makeValidation()
    getJob(item, 'try-debian')._set(voting=False)
    getBuild(item, 'try-debian')._set(result='FAILURE')
    several.report(item, 'success')
    upload, = several.uploads
    assert upload.validated is True
    assert upload.build_uuid == getBuild(item).uuid
    assert item.current_build_set.warning_messages == [
        'The job try-debian of the image upload upload has the result '
        'FAILURE, which rejects no image because the job is not voting. Let '
        'it vote if it has to decide']


@pytest.mark.parametrize('result', ['FAILURE', 'TIMED_OUT'])
def test_buildset_decides_if_no_job_of_the_image_votes(several, result):
    item = several.makeValidation()
    for name in ('build-debian', 'try-debian'):
        getJob(item, name)._set(voting=False)
        getBuild(item, name)._set(result=result)
    several.report(item, 'success')
    assert several.uploads[0].validated is True
    assert len(item.current_build_set.warning_messages) == 2


def test_failure_without_a_vote_beside_one_without_a_verdict(several):
    item = several.makeValidation()
    getJob(item)._set(voting=False)
    getBuild(item)._set(result='FAILURE')
    getBuild(item, 'try-debian')._set(result='NODE_FAILURE')
    several.report(item, 'failure')
    assert several.uploads[0].validated is None
    assert ('no voting job has the result FAILURE, only NODE_FAILURE, SUCCESS'
            in item.current_build_set.warning_messages[1])


def test_failure_with_a_vote_beside_one_without(several):
    item = several.makeValidation()
    getJob(item)._set(voting=False)
    for name in ('build-debian', 'try-debian'):
        getBuild(item, name)._set(result='FAILURE')
    several.report(item, 'failure')
    upload, = several.uploads
    assert upload.validated is False
    assert upload.build_uuid == getBuild(item, 'try-debian').uuid


def test_failure_of_another_job(site):
    site.addUpload()
    item = site.makeValidation()
    getBuild(item, 'other')._set(result='FAILURE')
    site.report(item, 'failure')
    assert site.uploads[0].validated is False


def test_upload_that_is_gone(site, caplog):
    site.report(site.makeValidation())
    assert 'does not exist any more' in caplog.text
    assert site.uploads == []


def test_upload_that_goes(site, monkeypatch, caplog):
    upload = site.addUpload()
    item = site.makeValidation()
    validate = site.scheduler.validateImageUpload

    def deleteAndValidate(*args):
        with site.context() as context:
            upload.delete(context)
        validate(*args)
    monkeypatch.setattr(
        site.scheduler, 'validateImageUpload', deleteAndValidate)
    site.report(item)
    assert 'does not exist any more' in caplog.text
    assert site.uploads == []


def test_upload_that_is_to_be_deleted(site):
    site.addUpload(_state='deleting')
    site.report(site.makeValidation())
    assert site.uploads[0].validated is None


def test_item_without_a_validation(site):
    site.addUpload()
    site.report(site.enqueue(site.loaded, 'validate'))
    site.report(site.enqueue(
        site.loaded, 'validate',
        site.loaded.driver.getImageBuildEvent(['debian'], *WHERE)))
    assert site.uploads[0].validated is None
