"""Launchers give work on images to tenants that the operator allows."""

import pytest

from tests.fixtures.imagetenants import (
    DEBIAN,
    KINDS,
    addArtifact,
    addUpload,
    getAsked,
    passOn,
    publish,
    writeTenants,
)
from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.settings import change
from tests.fixtures.waiting import waitFor
from zuul_nodes import imagecontrols, imagetenants, leftfiles
from zuul_nodes.imagetenants import ImageTenants
from zuul_nodes.launcher.images import KEY


@pytest.fixture
def launcher(image_launcher):
    image_launcher.setLayout(None)
    return image_launcher


def allow(launcher, kind, text):
    """Go on with another option."""
    change(launcher.jobs.tenants, **{
        imagetenants.OPTIONS[kind]: ImageTenants.parse(text)})


def start(launcher, kind):
    """Let there be something to do for an event."""
    if kind == 'image-validate':
        addUpload(launcher, 'a', 'rack')
    elif kind == 'image-delete':
        launcher.queue.start()
        addArtifact(launcher, _state='deleting')


def ask(launcher, kind):
    if kind == 'image-build':
        launcher.images.builds.reconcile()
    elif kind == 'image-validate':
        launcher.images.validation.reconcile(launcher.getUploads())
    else:
        launcher.queue.add(KEY)
        waitFor(lambda: getAsked(launcher, kind)
                or not list(launcher.builds.getItems()))
    return getAsked(launcher, kind)


@pytest.mark.parametrize('kind', KINDS.values())
@pytest.mark.parametrize('text, asked', [
    ('', 'a'), ('a', 'a'), ('b', 'b'), ('c', 'c'), ('c, b', 'b'),
    ('example.com/nodes=c', 'c'), ('nodes=b', 'b'), ('z, nodes=c', 'c'),
    # It concerns another project.
    ('example.com/other=b', 'a'), ('example.com/debian=b', 'a'),
    ('z', ''), ('nodes=z', '')])
def test_tenant_that_is_asked(launcher, kind, text, asked):
    writeTenants(launcher, 'a rack bvd, b rack bvd, c rack bvd')
    allow(launcher, kind, text)
    start(launcher, kind)
    assert ask(launcher, kind) == list(asked)


@pytest.mark.parametrize('kind', KINDS.values())
def test_options_of_other_events_do_not_matter(launcher, kind):
    writeTenants(launcher, 'a rack bvd, b rack bvd')
    for other in {*KINDS.values()} - {kind}:
        allow(launcher, other, 'b')
    start(launcher, kind)
    assert ask(launcher, kind) == ['a']


@pytest.mark.parametrize('kind', KINDS.values())
def test_another_tenant_takes_over_when_the_option_changes(launcher, kind):
    writeTenants(launcher, 'a rack bvd, b rack bvd')
    start(launcher, kind)
    assert ask(launcher, kind) == ['a']
    passOn(launcher, 'a')
    # At once, in spite of the back-off.
    allow(launcher, kind, 'nodes=b')
    for _ in range(2):
        ask(launcher, kind)
    assert ask(launcher, kind) == ['b']


@pytest.mark.parametrize('kind', KINDS.values())
def test_work_of_a_denied_tenant_delays_no_other(launcher, kind):
    """It could go on for ever, and its result is ignored."""
    writeTenants(launcher, 'a rack bvd, b rack bvd')
    start(launcher, kind)
    assert ask(launcher, kind) == ['a']
    allow(launcher, kind, 'b')
    ask(launcher, kind)
    waitFor(lambda: getAsked(launcher, kind) == ['a', 'b'])


def test_denied_tenant_that_lost_the_image_deletes_nothing(launcher):
    writeTenants(launcher, 'a rack bvd, b rack -')
    launcher.pipelines.publish(tenant='a', pipelines=PIPELINES, images={})
    artifact = addArtifact(launcher)
    tenants = launcher.jobs.tenants
    assert list(tenants.getDeleters(artifact)) == ['a']
    allow(launcher, 'image-delete', 'b')
    assert tenants.getDeleters(artifact) == {}


def test_denied_tenant_without_record_validates_nothing(launcher):
    writeTenants(launcher, 'a rack bvd, b rack -')
    artifact = addArtifact(launcher, 'c')
    launcher.setLayout('', 'c')
    upload = launcher.addUpload(artifact, 'rack', 'a')
    publish(launcher, 'a', '-')
    tenants = launcher.jobs.tenants
    assert tenants.getValidators(artifact, upload) == {'c': None}
    allow(launcher, 'image-validate', 'example.com/nodes=a')
    assert tenants.getValidators(artifact, upload) == {}


def test_log_names_the_option_that_leaves_no_builder(launcher, caplog):
    writeTenants(launcher, 'a rack bvd, b rack -')
    allow(launcher, 'image-build', 'b')
    assert ask(launcher, 'image-build') == []
    assert 'in the format raw, and no tenant builds it: none has' in (
        caplog.text)
    assert ('; "image_build_tenants" in [launcher] of zuul.conf does not list '
            'the tenant a for its project' in caplog.text)


def test_remark_names_the_option_that_leaves_no_validator(launcher):
    writeTenants(launcher, 'a rack bv, b rack bv, c other -')
    allow(launcher, 'image-validate', 'c')
    upload = addUpload(launcher, 'a', 'rack')
    assert ask(launcher, 'image-validate') == []
    remark = launcher.records.remarks.getRemark(upload.uuid)
    assert ('. "image_validate_tenants" in [launcher] of zuul.conf does not '
            'list every tenant with the image') in remark


def test_operators_order_builds_of_tenants_that_are_allowed(launcher):
    writeTenants(launcher, 'a rack b, b rack b')
    allow(launcher, 'image-build', 'nodes=b')
    imagecontrols.add(launcher.zk_client.client, imagecontrols.Control.ORDERED,
                      DEBIAN, 'test')
    waitFor(launcher.records.steering.getOrdered)
    addArtifact(launcher)
    assert ask(launcher, 'image-build') == ['b']


def test_file_that_no_tenant_may_delete_is_left_behind_with_the_option(
        launcher):
    writeTenants(launcher, 'a rack bvd, b rack -')
    allow(launcher, 'image-delete', 'b')
    start(launcher, 'image-delete')
    ask(launcher, 'image-delete')
    file, = leftfiles.readAll(launcher.zk_client.client)
    assert ('no tenant has a job that deletes the file; '
            '"image_delete_tenants" in [launcher] of zuul.conf does not list '
            'the tenant a for its project') in str(file)
