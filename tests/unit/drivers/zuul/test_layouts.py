"""The driver tells launchers of the images of each layout."""

import pytest
from zuul.exceptions import NodesetNotFoundError
from zuul.model import Job

from tests.fixtures.pipelines import readImageLayout
from tests.unit.drivers.zuul.site import (
    DEBIAN,
    FEDORA,
    IMAGES,
    IMAGES_FILE,
    JOBS_FILE,
    PIPELINES,
    PIPELINES_FILE,
    PROVIDERS,
    PROVIDERS_FILE,
)
from zuul_nodes.drivers.zuul.layouts import makeImageLayout

NOTHING = {
    IMAGES_FILE: None, PROVIDERS_FILE: None, JOBS_FILE: None,
    PIPELINES_FILE: '''
- job: {name: base, parent: null, run: base.yaml}
- pipeline:
    name: post
    manager: independent
    trigger:
      zuul:
        - event: project-change-merged
        - event: parent-change-enqueued
          pipeline: post
'''}


def getPipelines(loadTenant, text):
    return makeImageLayout(loadTenant(
        {PIPELINES_FILE: PIPELINES + text}).tenant).pipelines


def test_pipelines_and_images(loadTenant):
    tenant = loadTenant().tenant
    layout = makeImageLayout(tenant)
    assert layout.layout_uuid == tenant.layout.uuid
    assert layout.pipelines == {
        'image-build': ['build'], 'image-validate': ['validate'],
        'image-delete': ['delete'], 'image-built': ['build']}
    image = {'project': 'example.com/nodes', 'branch': 'main', 'denied': [],
             'needs': [], 'runs': {
        'image-build': ['build'], 'image-validate': ['validate'],
        'image-delete': ['delete']}}
    # One of them has no provider, and the cloud's own is none of ours.
    assert layout.images == {
        DEBIAN: {'name': 'debian', 'formats': ['raw'], **image},
        FEDORA: {'name': 'fedora', 'formats': [], **image}}
    assert layout.broken == []


def getRuns(loadTenant, text, pipelines=''):
    """:return: of debian and of fedora what runs for which event."""
    images = makeImageLayout(loadTenant({
        JOBS_FILE: text,
        PIPELINES_FILE: PIPELINES + pipelines}).tenant).images
    return tuple({event: names for event, names in
                  images[name]['runs'].items() if names}
                 for name in (DEBIAN, FEDORA))


def test_jobs_that_no_pipeline_has_build_nothing(loadTenant):
    assert getRuns(loadTenant, '''
- job: {name: build-debian, parent: base, image-build-name: debian}
- project:
    other:
      jobs: [build-debian]
''', '''
- pipeline:
    name: other
    manager: independent
    trigger:
      zuul:
        - event: image-build
''') == ({}, {})


def test_name_of_the_image_may_be_said_where_the_job_is_used(loadTenant):
    assert getRuns(loadTenant, '''
- job: {name: plain, parent: base}
- project:
    build:
      jobs:
        - plain:
            image-build-name: fedora
''') == ({}, {'image-build': ['build']})


def test_jobs_that_another_project_attaches_do_not_run(loadTenant):
    """Zuul does not let them, and no job of that item runs."""
    assert getRuns(loadTenant, '''
- job: {name: build-debian, parent: base, image-build-name: debian}
''', '''
- project:
    name: nodes
    build:
      jobs: [build-debian, base]
    delete:
      jobs: [base]
''') == 2 * ({'image-delete': ['delete']},)


def test_name_of_the_image_may_be_that_of_the_parent(loadTenant):
    assert getRuns(loadTenant, '''
- job: {name: build-debian, parent: base, image-build-name: debian}
- job: {name: plain, parent: build-debian}
- project:
    build:
      jobs: [plain]
''') == ({'image-build': ['build']}, {})


def test_jobs_of_a_project_template(loadTenant):
    assert getRuns(loadTenant, '''
- job: {name: plain, parent: base}
- project-template:
    name: images
    build:
      jobs:
        - plain: {image-build-name: debian}
- project:
    templates: [images]
''') == ({'image-build': ['build']}, {})


def test_jobs_of_a_template_that_nobody_uses_build_nothing(loadTenant):
    assert getRuns(loadTenant, '''
- job: {name: plain, parent: base}
- project-template:
    name: images
    build:
      jobs:
        - plain: {image-build-name: debian}
''') == ({}, {})


def test_jobs_of_another_branch_build_nothing(loadTenant):
    assert getRuns(loadTenant, '''
- job:
    name: build-debian
    parent: base
    branches: stable
    image-build-name: debian
- project:
    build:
      jobs: [build-debian]
''') == ({}, {})


def test_job_of_no_image_can_delete_but_not_build_or_validate(loadTenant):
    runs = {'image-delete': ['delete']}
    assert getRuns(loadTenant, '''
- job: {name: plain, parent: base}
- project:
    build: &jobs
      jobs: [plain]
    validate: *jobs
    delete: *jobs
''') == (runs, runs)


def test_several_events(loadTenant):
    pipelines = getPipelines(loadTenant, '''
- pipeline:
    name: several
    manager: independent
    trigger:
      zuul:
        - event: [image-build, image-delete]
        - event: image-validate
''')
    assert pipelines['image-build'] == ['build', 'several']
    assert pipelines['image-validate'] == ['several', 'validate']
    assert pipelines['image-delete'] == ['delete', 'several']


def test_events_of_pipelines_are_not_of_images(loadTenant):
    pipelines = getPipelines(loadTenant, '''
- pipeline:
    name: after
    manager: independent
    trigger:
      zuul:
        - event: [parent-change-enqueued, image-build]
          pipeline: build
''')
    assert pipelines['image-build'] == ['build']


@pytest.mark.parametrize('action', ['failure', 'start', 'enqueue'])
def test_reporters_of_any_kind(loadTenant, action):
    pipelines = getPipelines(loadTenant, f'''
- pipeline:
    name: check
    manager: independent
    trigger: {{}}
    {action}:
      zuul: {{image-built: true}}
    dequeue:
      zuul: {{image-built: false}}
- pipeline:
    name: other
    manager: independent
    trigger: {{}}
    success:
      zuul: {{image-built: false, image-validated: true}}
''')
    assert pipelines['image-built'] == ['build', 'check']


# Nodes of validation jobs

MORE_LABELS = {
    IMAGES_FILE: IMAGES + '''
- label: {name: fedora, image: fedora, flavor: small}
''',
    PROVIDERS_FILE: PROVIDERS.replace('stock]', 'stock, fedora]')}
VALIDATE = '''
- nodeset:
    name: both
    nodes: [{name: one, label: debian}, {name: two, label: fedora}]
- nodeset:
    name: either
    alternatives: [both, {nodes: [{name: one, label: debian}]}]
- job:
    name: validate-debian
    parent: base
    image-build-name: debian
    ATTRIBUTES
- job: {name: other, parent: base, nodeset: OTHER}
- project:
    validate:
      jobs: [validate-debian, OTHERS]
'''


@pytest.mark.parametrize('attributes, other, needs', [
    ('', None, []),
    # Its own upload, no image of Zuul, and an image that has to be there.
    ('nodeset: {nodes: [{name: one, label: debian}]}', None, []),
    ('nodeset: {nodes: [{name: one, label: stock}]}', None, []),
    ('nodeset: {nodes: [{name: one, label: fedora}]}', None, [FEDORA]),
    ('nodeset: both', None, [FEDORA]),
    ('nodeset: either', None, []),
    ('nodeset: {alternatives: [both]}', None, [FEDORA]),
    # Its failure decides nothing.
    ('nodeset: both\n    voting: false', None, []),
    # Jobs without an image run, too.
    ('', 'both', [FEDORA]),
    ('', 'either', []),
])
def test_images_that_validation_jobs_need(
        loadTenant, attributes, other, needs):
    files = MORE_LABELS | {JOBS_FILE: VALIDATE.replace(
        'ATTRIBUTES', attributes).replace(
            'OTHERS', 'other' if other else 'base').replace(
                'OTHER', other or 'both')}
    images = makeImageLayout(loadTenant(files).tenant).images
    assert images[DEBIAN]['runs']['image-validate'] == ['validate']
    assert images[DEBIAN]['needs'] == needs


def test_job_whose_nodes_are_unknown_runs_nevertheless(
        loadTenant, monkeypatch):
    """As Zuul says what is wrong with it."""
    def fail(self, layout):
        raise NodesetNotFoundError('both')
    loaded = loadTenant(MORE_LABELS | {JOBS_FILE: VALIDATE.replace(
        'ATTRIBUTES', 'nodeset: both').replace('OTHERS', 'base').replace(
            'OTHER', 'both')})
    monkeypatch.setattr(Job, 'flattenNodesetAlternatives', fail)
    image = makeImageLayout(loaded.tenant).images[DEBIAN]
    assert image['runs']['image-validate'] == ['validate']
    assert image['needs'] == []


@pytest.mark.parametrize('reporters, needs', [
    ('{image-built: true}', [FEDORA]),
    ('{image-built: true, image-validated: true}', [])])
def test_images_that_need_no_validation_need_no_others(
        loadTenant, reporters, needs):
    files = MORE_LABELS | {
        PIPELINES_FILE: PIPELINES.replace(
            'zuul:\n        image-built: true', f'zuul: {reporters}'),
        JOBS_FILE: VALIDATE.replace('ATTRIBUTES', 'nodeset: both').replace(
            'OTHERS', 'base').replace('OTHER', 'both') + '''
- project:
    build:
      jobs: [validate-debian]
'''}
    images = makeImageLayout(loadTenant(files).tenant).images
    assert images[DEBIAN]['needs'] == needs


def test_errors_of_a_project(loadTenant):
    loaded = loadTenant({IMAGES_FILE: '- image: {name: 3}'}, complete=False)
    layout = makeImageLayout(loaded.tenant)
    assert layout.images == {}
    assert layout.broken == ['example.com/nodes']


def test_published_on_each_layout(loadTenant, makeScheduler, kazoo_client):
    loaded = loadTenant()
    makeScheduler(loaded)
    loaded.connections.reconfigureDrivers(loaded.tenant)
    first = readImageLayout(kazoo_client, 'tenant')
    assert first == makeImageLayout(loaded.tenant)
    loaded.load()
    loaded.connections.reconfigureDrivers(loaded.tenant)
    second = readImageLayout(kazoo_client, 'tenant')
    assert second == makeImageLayout(loaded.tenant)
    assert second.layout_uuid != first.layout_uuid


def test_tenant_without_images(loadTenant, makeScheduler, kazoo_client):
    loaded = loadTenant()
    makeScheduler(loaded)
    loaded.connections.reconfigureDrivers(loaded.tenant)
    nothing = loadTenant(NOTHING)
    makeScheduler(nothing)
    nothing.connections.reconfigureDrivers(nothing.tenant)
    layout = readImageLayout(kazoo_client, 'tenant')
    assert (layout.images, layout.broken) == ({}, [])
    # What Zuul does in this place is done.
    driver = nothing.driver
    assert driver.project_change_merged_events == {'tenant': True}
    assert driver.parent_change_enqueued_events == {('tenant', 'post'): True}


def test_no_zookeeper(loadTenant, makeScheduler, caplog):
    loaded = loadTenant()
    makeScheduler(loaded).zk_client.disconnect()
    loaded.connections.reconfigureDrivers(loaded.tenant)
    assert 'images of tenant tenant' in caplog.text
