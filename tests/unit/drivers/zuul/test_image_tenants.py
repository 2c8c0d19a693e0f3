"""The reporter refuses what a tenant may not do with images."""

import pytest

from tests.fixtures.pipelines import readImageLayout
from tests.unit.drivers.zuul.site import (
    DEBIAN,
    FEDORA,
    JOBS,
    JOBS_FILE,
    PIPELINES,
    PIPELINES_FILE,
    getBuild,
    makeArtifact,
)
from zuul_nodes import undelivered
from zuul_nodes.exceptions import UserError

NIGHTLY = {PIPELINES_FILE: PIPELINES + '''
- pipeline:
    name: nightly
    manager: independent
    trigger: {}
    success:
      zuul: {image-built: true, image-validated: true}
''', JOBS_FILE: JOBS + '''
- project:
    nightly:
      jobs: [build-debian, build-fedora]
'''}


@pytest.fixture
def makeAllowed(zuul_conf, makeSite):
    """:return: a function of files and options; makes a Site."""
    def make(files=(), **options):
        zuul_conf.read_dict({'launcher': options})
        return makeSite(files)
    return make


def getWarnings(item):
    return item.current_build_set.warning_messages


@pytest.mark.parametrize('text, is_allowed', [
    ('', True), ('tenant', True), ('other, tenant', True), ('other', False),
    ('example.com/nodes=tenant', True), ('nodes=tenant', True),
    ('nodes=other', False), ('nodes=other, tenant', True),
    # That is another project, or another host of it.
    ('config=other', True), ('example.org/nodes=other', True)])
def test_images_of_tenants(makeAllowed, audited, text, is_allowed):
    site = makeAllowed(image_build_tenants=text)
    item = site.makeItem(makeArtifact())
    site.report(item)
    assert len(site.artifacts) == len(site.uploads) == is_allowed
    if is_allowed:
        assert getWarnings(item) == []
        return
    assert getWarnings(item) == [
        'The image "debian" of the job build-debian in the format raw is '
        'ignored: The tenant "tenant" may not build images of the project '
        'example.com/nodes, because "image_build_tenants" in [launcher] of '
        'zuul.conf does not list it; an operator can add '
        '"example.com/nodes=tenant" there']
    line, = audited.read(event='refused')
    assert line.items() >= {
        'tenant': 'tenant', 'build': getBuild(item).uuid,
        'reason': getWarnings(item)[0]}.items()


def test_no_pipeline_leads_around_the_option(makeAllowed):
    site = makeAllowed(NIGHTLY, image_build_tenants='infra')
    item = site.enqueue(site.loaded, 'nightly')
    site.setArtifacts(getBuild(item), makeArtifact(),
                      makeArtifact(image_name='fedora'))
    site.report(item)
    assert site.artifacts == []
    assert ['"debian"' in text or '"fedora"' in text
            for text in getWarnings(item)] == [True, True]
    assert 'infra' not in ' '.join(getWarnings(item))


def test_denied_build_says_nothing_about_formats(makeAllowed):
    """Another tenant may deliver what it lacks."""
    site = makeAllowed(image_build_tenants='infra')
    site.loaded.layout.providers['rack'].images['debian'].format = 'vhd'
    item = site.makeItem(makeArtifact())
    site.report(item)
    assert len(getWarnings(item)) == 1
    assert undelivered.read(site.scheduler.zk_client.client, DEBIAN) == {}


@pytest.mark.parametrize('text, validated', [
    ('', True), ('tenant', True), ('infra', None), ('nodes=infra', None)])
def test_pipeline_that_declares_images_valid(makeAllowed, text, validated):
    site = makeAllowed(NIGHTLY, image_validate_tenants=text)
    item = site.enqueue(site.loaded, 'nightly')
    site.setArtifacts(getBuild(item), makeArtifact())
    site.report(item)
    assert [record.validated for record in site.artifacts + site.uploads
            ] == [validated, validated]
    assert [text.startswith(
        'The image "debian" of the job build-debian in the format raw needs a '
        'validation, in spite of "image-validated: true" in the pipeline '
        'nightly: The tenant "tenant" may not validate images of the project '
        'example.com/nodes, because "image_validate_tenants" in [launcher] '
    ) for text in getWarnings(item)] == ([] if validated else [True])


@pytest.mark.parametrize('action, result', [
    ('success', 'SUCCESS'), ('failure', 'FAILURE')])
@pytest.mark.parametrize('text, is_allowed', [
    ('', True), ('nodes=tenant', True), ('infra', False),
    ('nodes=infra', False), ('config=infra', True)])
def test_validations_of_tenants(
        makeAllowed, audited, action, result, text, is_allowed):
    site = makeAllowed(image_validate_tenants=text)
    site.addUpload()
    item = site.makeValidation()
    getBuild(item)._set(result=result)
    site.report(item, action)
    upload, = site.uploads
    if is_allowed:
        assert upload.validated is (action == 'success')
        assert getWarnings(item) == audited.read(event='refused') == []
        return
    assert upload.validated is upload.build_uuid is None
    warning, = getWarnings(item)
    assert warning.startswith(
        'The validation of the image upload upload of the image "debian" is '
        'ignored: The tenant "tenant" may not validate images of the project '
        'example.com/nodes, because "image_validate_tenants" in [launcher] ')
    assert audited.read(event='refused')[0]['reason'] == warning
    assert audited.read(event='validated') == []


def test_item_for_another_image_leads_around_no_option(makeAllowed):
    """What counts is the project of the upload, not of the event."""
    site = makeAllowed(image_validate_tenants='example.com/shared=infra')
    site.addUpload(canonical_name='example.com%2Fshared/debian')
    site.report(site.makeValidation())
    assert site.uploads[0].validated is None


@pytest.mark.parametrize('event', [
    'image-build', 'image-validate', 'image-delete'])
def test_layout_of_a_tenant_says_what_it_may_not_do(
        makeAllowed, kazoo_client, event):
    option = event.replace('-', '_') + '_tenants'
    makeAllowed(**{option: 'nodes=infra'})
    layout = readImageLayout(kazoo_client, 'tenant')
    for name in (DEBIAN, FEDORA):
        assert {each for each, runs in layout.images[name]['runs'].items()
                if runs} == {
            'image-build', 'image-validate', 'image-delete'} - {event}
        assert layout.isDenied(name, event)
        assert layout.images[name]['denied'] == [event]


def test_scheduler_does_not_start_with_an_invalid_option(makeAllowed):
    with pytest.raises(UserError, match='"image_delete_tenants" in'):
        makeAllowed(image_delete_tenants='nodes=')
