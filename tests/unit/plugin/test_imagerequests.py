"""What zuul-web answers to requests for builds and validations of images."""

import pytest
from zuul.model import ImageBuildArtifact, ImageUpload

from tests.fixtures.pipelines import readImageLayout
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.zuul.site import (
    DEBIAN,
    JOBS_FILE,
    PIPELINES,
    PIPELINES_FILE,
)
from zuul_nodes import imagelayouts, zkrecords
from zuul_nodes.drivers.zuul import records

NO_PIPELINES = {
    JOBS_FILE: None,
    PIPELINES_FILE: '- job: {name: base, parent: null, run: base.yaml}\n'}
NO_JOBS = {JOBS_FILE: None}
NO_TRIGGER = {PIPELINES_FILE: PIPELINES.replace(
    'image-build\n', 'image-delete\n').replace(
        '[image-validate]', 'image-delete')}
NO_REPORTER = {PIPELINES_FILE: PIPELINES.replace(
    'image-built: true', 'image-validated: true')}


class Site:
    """zuul-web with a tenant, whose layout a scheduler has recorded."""

    def __init__(self, loadTenant, makeScheduler, makeWeb):
        self.load = loadTenant
        self.web = makeWeb(loadTenant())
        self.scheduler = makeScheduler(loadTenant())

    def setTenant(self, files, name='tenant'):
        self.web.addTenant(self.load(files).tenant, name)
        self.scheduler.publish(self.load(files), name)
        self.waitForRecord(name)

    def waitForRecord(self, name='tenant'):
        expected = readImageLayout(self.scheduler.zk_client.client, name)
        pipelines = self.web.service.connections.drivers['zuul'].pipelines
        waitFor(lambda: pipelines.get(name) == expected)

    def request(self, action, tenant='tenant'):
        """:return: the answer to a request, and the events that it sent."""
        path = 'image/debian/build'
        if action == 'validate':
            self.addUpload()
            path = 'image-upload/upload/validate'
        answer = self.web.ask(path, 'POST', tenant)
        events = [event.type for event
                  in self.web.service.trigger_events[tenant]]
        return answer, events

    def addUpload(self):
        common = {'canonical_name': DEBIAN, '_state': 'ready', 'timestamp': 1}
        with self.scheduler.createZKContext(None, records.log) as context:
            ImageBuildArtifact.new(
                context, uuid='build', name='debian', format='raw',
                project_canonical_name='example.com/nodes',
                project_branch='main', build_tenant_name='tenant', **common)
            ImageUpload.new(context, uuid='upload', artifact_uuid='build',
                            **common)
        service = self.web.service
        waitFor(lambda: service.image_upload_registry.getItem('upload')
                and service.image_build_registry.getItem('build'))


@pytest.fixture
def site(loadTenant, makeScheduler, makeWeb):
    return Site(loadTenant, makeScheduler, makeWeb)


@pytest.mark.parametrize('action', ['build', 'validate'])
def test_event_is_sent_if_a_job_would_run(site, action):
    site.setTenant({})
    assert site.request(action) == ((200, None), [f'image-{action}'])


@pytest.mark.parametrize('action', ['build', 'validate'])
@pytest.mark.parametrize('files, there', [
    (NO_PIPELINES, 'no such pipeline'), (NO_TRIGGER, 'no such pipeline'),
    (NO_JOBS, 'such pipelines: ')])
def test_no_event_is_sent_if_no_job_would_run(site, action, files, there):
    site.setTenant(files)
    (status, answer), events = site.request(action)
    assert (status, events) == (409, [])
    # The web UI shows this line.
    assert f'409 No job of this tenant would {action} the image' in answer
    assert (f'Attach a job with "image-build-name: debian" to a '
            f'pipeline with the trigger event "image-{action}" and '
            'the reporter "image-') in answer
    assert ('in the configuration of the project example.com/nodes on the '
            f'branch main. This tenant has {there}') in answer


def test_no_event_is_sent_to_a_pipeline_that_reports_no_build(site):
    site.setTenant(NO_REPORTER)
    assert site.request('build')[0][0] == 409


def test_pipelines_of_another_tenant_do_not_help(site):
    site.setTenant({}, 'other')
    site.setTenant(NO_PIPELINES)
    (status, _), events = site.request('build')
    assert (status, events) == (409, [])
    assert site.request('build', 'other')[0] == (200, None)


@pytest.mark.parametrize('action', ['build', 'validate'])
def test_operator_does_not_let_the_tenant_do_it(zuul_conf, request, action):
    zuul_conf.read_dict({'launcher': {
        f'image_{action}_tenants': 'nodes=infra'}})
    site = request.getfixturevalue('site')
    site.setTenant({})
    (status, answer), events = site.request(action)
    assert (status, events) == (409, [])
    assert (f'may not {action} images of the project example.com/nodes, '
            f'because "image_{action}_tenants" in [launcher] of '
            'zuul.conf does not list it') in answer
    assert 'infra' not in answer


@pytest.mark.parametrize('action', ['build', 'validate'])
@pytest.mark.parametrize('tenant, path', [
    ('tenant', 'image/missing/build'), ('tenant', 'image/stock/build'),
    ('tenant', 'image-upload/missing/validate')])
def test_zuul_answers_for_what_does_not_exist(site, action, tenant, path):
    site.setTenant(NO_PIPELINES)
    status, answer = site.web.ask(path, 'POST', tenant)
    assert status == 404
    assert 'not found in tenant' in answer


def test_another_tenant_learns_nothing_about_an_upload(site):
    site.setTenant(NO_PIPELINES, 'other')
    assert site.request('validate', 'other')[0][0] == 404


@pytest.mark.parametrize('data', [None, b'?', 'no runs'])
@pytest.mark.parametrize('files, status', [(NO_PIPELINES, 409), ({}, 200)])
def test_layout_of_zuul_web_counts_without_that_of_a_scheduler(
        site, data, files, status):
    site.setTenant(NO_JOBS if status == 200 else {})
    site.web.addTenant(site.load(files).tenant)
    client = site.scheduler.zk_client.client
    path = imagelayouts.getPath('tenant')
    if data == 'no runs':
        layout = readImageLayout(client, 'tenant')
        del layout.images[DEBIAN]['runs']
        imagelayouts.publish(client, 'tenant', layout)
        site.waitForRecord()
    elif data:
        zkrecords.write(client, path, data)
    else:
        zkrecords.delete(client, path)
    waitFor(lambda: site.request('build')[0][0] == status)


def test_only_administrators_learn_of_it(site, monkeypatch):
    site.setTenant(NO_PIPELINES)
    monkeypatch.setattr('zuul.web.ZuulWebAPI._isAuthorized',
                        lambda *args: (True, False))
    assert site.request('build')[0][0] == 403
