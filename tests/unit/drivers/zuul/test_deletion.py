"""What has become of the jobs that delete files is recorded."""

import pytest
from zuul.model import ImageBuildArtifact

from tests.unit.drivers.zuul.site import (
    DEBIAN,
    JOBS,
    JOBS_FILE,
    PIPELINES,
    PIPELINES_FILE,
    WHERE,
    getBuild,
)
from zuul_nodes import imageevents
from zuul_nodes.drivers.zuul import deletion
from zuul_nodes.imageevents import EventKind, Sent

UUID = 32 * 'a'


def getClient(site):
    return site.scheduler.zk_client.client


def makeDeletion(site, pipeline='delete', **results):
    """:return: an item that is to delete a file; of its jobs by name, what
        they return of it."""
    getClient(site).create(
        imageevents.getPath(EventKind.DELETE, UUID),
        imageevents.makeRecord(Sent('tenant', 1, 0, 0)), makepath=True)
    item = site.enqueue(site.loaded, pipeline, event=(
        site.loaded.driver.getImageDeleteEvent(['debian'], *WHERE, UUID)))
    for name, value in results.items():
        getBuild(item, name.replace('_', '-'))._set(
            _result_data={'zuul': {'image_deleted': value}})
    return item


def setResult(item, result, name='build-debian'):
    getBuild(item, name)._set(result=result)


def report(site, item, action='success'):
    """:return: the record of the event."""
    site.report(item, action)
    return imageevents.read(getClient(site), EventKind.DELETE, UUID)


def test_buildset_that_succeeds_has_deleted_the_file(site):
    sent = report(site, makeDeletion(site))
    assert (sent.is_deleted, sent.problem) == (True, None)


@pytest.mark.parametrize('result', [
    'FAILURE', 'POST_FAILURE', 'NODE_FAILURE', 'TIMED_OUT', 'RETRY_LIMIT',
    None])
def test_buildset_that_fails_has_not_deleted_it(site, result):
    item = makeDeletion(site)
    setResult(item, result)
    sent = report(site, item, 'failure')
    assert not sent.is_deleted
    assert sent.problem == (
        'the pipeline delete of the tenant tenant has not deleted it '
        f'(build-debian: {result}, other: SUCCESS)')


@pytest.mark.parametrize('result', ['FAILURE', 'SKIPPED'])
def test_jobs_that_do_not_vote_must_succeed_as_well(makeSite, result):
    site = makeSite({JOBS_FILE: JOBS.replace(
        'image-build-name: debian', 'image-build-name: debian\n    '
        'voting: false')})
    item = makeDeletion(site)
    assert not getBuild(item).job.voting
    setResult(item, result)
    assert not report(site, item).is_deleted


@pytest.mark.parametrize('value', [None, True])
def test_jobs_without_the_image_must_say_that_they_have_deleted_it(
        site, value):
    """The tenant has lost the image, and its jobs have not run."""
    item = makeDeletion(site, **({'other': value} if value else {}))
    del site.loaded.layout.images['debian']
    assert report(site, item).is_deleted is bool(value)


def test_first_of_two_phases_has_no_result(site):
    item = makeDeletion(site)
    reporter, = item.manager.pipeline.success_actions
    reporter.report(item, phase1=True, phase2=False)
    assert not imageevents.read(
        getClient(site), EventKind.DELETE, UUID).hasResult()


@pytest.mark.parametrize('value, is_deleted', [
    (True, True), (False, False), ('yes', False), (1, False), ([], False),
    (None, False)])
def test_what_a_job_returns_counts_before_its_result(site, value, is_deleted):
    item = makeDeletion(site, build_debian=value)
    # As when the logs could not be stored.
    setResult(item, 'POST_FAILURE')
    assert report(site, item, 'failure').is_deleted is is_deleted


def test_job_may_say_that_the_file_is_still_there(site):
    item = makeDeletion(site, build_debian=False)
    assert not report(site, item).is_deleted


@pytest.mark.parametrize('other', [True, False])
def test_all_jobs_that_say_so_must_have_deleted_it(site, other):
    item = makeDeletion(site, build_debian=True, other=other)
    assert report(site, item).is_deleted is other


def test_nothing_is_deleted_without_a_job(site):
    item = makeDeletion(site)
    item.current_build_set.builds.clear()
    sent = report(site, item, 'no_jobs')
    assert not sent.is_deleted
    assert 'no job has run' in sent.problem


@pytest.mark.parametrize('data', [
    None, [], 'text', {'zuul': None}, {'zuul': ['image_deleted']}])
def test_result_of_any_type_is_read(site, data):
    item = makeDeletion(site)
    getBuild(item)._set(_result_data=data)
    assert report(site, item).is_deleted


def test_other_events_are_not_recorded(site):
    item = makeDeletion(site)
    for event in (None, site.loaded.driver.getImageBuildEvent(
            ['debian'], *WHERE)):
        other = site.enqueue(site.loaded, 'delete', event=event)
        assert not report(site, other).is_deleted
    assert report(site, item).is_deleted


def test_only_pipelines_that_delete_get_the_reporter_once(makeSite):
    """Also one that reports elsewhere, or by several triggers."""
    site = makeSite({PIPELINES_FILE: PIPELINES + '''
- pipeline:
    name: any
    manager: independent
    trigger:
      zuul:
        - event: [image-build, image-delete]
        - event: image-delete
    success:
      zuul:
        image-built: true
''', JOBS_FILE: JOBS + '''
- project:
    any:
      jobs: [build-debian]
'''})
    site.loaded.driver.reconfigure(site.loaded.tenant)
    numbers = {
        manager.pipeline.name: [
            sum(isinstance(each, deletion.DeletionReporter)
                for each in getattr(manager.pipeline, name))
            for name in deletion.ACTIONS]
        for manager in site.loaded.layout.pipeline_managers.values()}
    ones = [1] * len(deletion.ACTIONS)
    assert numbers == {'delete': ones, 'any': ones,
                       'build': [0] * len(ones), 'validate': [0] * len(ones)}


def test_reporter_says_nothing_to_code_review(site):
    """As Zuul asks each reporter when a change is about to merge."""
    manager = site.loaded.layout.pipeline_managers['delete']
    change = site.enqueue(site.loaded, 'delete').changes[0]
    change.project.connection_name = 'zuul'
    assert manager.getSubmitAllowNeeds(change) == set()


@pytest.mark.parametrize('text, is_allowed', [
    ('', True), ('nodes=tenant', True), ('config=infra', True),
    ('infra', False), ('example.com/nodes=infra', False)])
@pytest.mark.parametrize('action', ['success', 'failure'])
def test_deletions_of_tenants_that_the_operator_allows(
        zuul_conf, makeSite, audited, text, is_allowed, action):
    zuul_conf.read_dict({'launcher': {'image_delete_tenants': text}})
    site = makeSite()
    with site.context() as context:
        ImageBuildArtifact.new(
            context, uuid=UUID, name='debian', canonical_name=DEBIAN,
            format='raw', project_canonical_name='example.com/nodes')
    item = makeDeletion(site)
    if action == 'failure':
        setResult(item, 'FAILURE')
    sent = report(site, item, action)
    assert sent.is_deleted is (is_allowed and action == 'success')
    assert (sent.problem is None) is (not is_allowed or action == 'success')
    warnings = item.current_build_set.warning_messages
    assert [line['reason'] for line in audited.read(event='refused')
            ] == warnings
    assert warnings == ([] if is_allowed else [
        f'The deletion of the file of the image build {UUID} is ignored: The '
        'tenant "tenant" may not delete images of the project '
        'example.com/nodes, because "image_delete_tenants" in [launcher] of '
        'zuul.conf does not list it; an operator can add '
        '"example.com/nodes=tenant" there'])
