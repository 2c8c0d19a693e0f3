"""Builds that a validation has rejected."""

import pytest

from tests.fixtures.imagetenants import (
    DEBIAN,
    READY,
    addArtifact,
    getAsked,
    passOn,
)
from tests.fixtures.waiting import waitFor
from zuul_nodes.imageproblems import findRequest


@pytest.fixture
def launcher(image_launcher):
    image_launcher.setLayout(None)
    return image_launcher


def test_no_validation_of_a_rejected_build_is_asked_for(launcher, write):
    write('a rack bv, b other v')
    bad = addArtifact(launcher, timestamp=2)
    launcher.addUpload(bad, 'rack', 'a', **READY | {
        'validated': False, 'build_uuid': 'build'})
    late = launcher.addUpload(bad, 'other', 'b', **READY)
    launcher.images.validation.reconcile(launcher.getUploads())
    assert getAsked(launcher, 'image-validate') == []
    transaction = launcher.session.transaction()
    launcher.images.validation.addEvent(transaction, late)
    transaction.commit()
    assert getAsked(launcher, 'image-validate') == []


def test_endpoint_that_rejected_the_newest_build_gets_one_that_is_good(
        launcher, write):
    write('a rack bv, b other -')
    old, new = (addArtifact(launcher, timestamp=number) for number in (1, 2))
    for artifact in (old, new):
        launcher.addUpload(artifact, 'rack', 'a', **READY | {
            'validated': True, 'external_id': artifact.uuid})
    launcher.addUpload(new, 'other', 'b', _state='failed', validated=False,
                       build_uuid='build')
    launcher.distribution.reconcile()
    added = waitFor(lambda: [
        upload for upload in launcher.getUploads()
        if upload.artifact_uuid == old.uuid
        and 'other' in upload.endpoint_name])
    assert [upload.state for upload in added] == ['pending']
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == []


@pytest.mark.settings(image_settle_time=0)
def test_build_is_asked_for_if_an_endpoint_has_rejected_all(launcher, write):
    write('a rack bv, b other -')
    new = addArtifact(launcher)
    launcher.addUpload(new, 'rack', 'a', **READY | {'validated': True})
    launcher.addUpload(new, 'other', 'b', _state='failed', validated=False,
                       build_uuid='build')
    launcher.distribution.reconcile()
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['a']
    assert len(launcher.getUploads()) == 2
    problem = findRequest(launcher.zk_client.client, DEBIAN)
    endpoint = launcher.getProvider('other', 'b').getEndpoint().canonical_name
    assert problem == (
        'the tenant a was asked to build it (attempt 1); raw: the builds were '
        f'rejected at {endpoint}, or their files are gone')
    # Where the providers of others are is not for tenants.
    for name, asked in (('a', 'the tenant a'), ('b', 'another tenant')):
        assert findRequest(launcher.zk_client.client, DEBIAN, name) == (
            f'{asked} was asked to build it (attempt 1)')


@pytest.mark.settings(image_settle_time=0)
def test_why_a_build_is_asked_for_if_all_were_rejected(launcher, write):
    write('a rack bv')
    launcher.addUpload(addArtifact(launcher), 'rack', 'a', _state='failed',
                       validated=False, build_uuid='build')
    launcher.images.builds.reconcile()
    assert findRequest(launcher.zk_client.client, DEBIAN).endswith(
        '; raw: there is no build that was not rejected')


@pytest.mark.settings(image_settle_time=0)
def test_back_off_lasts_while_an_endpoint_may_reject_the_next_build(
        launcher, write):
    write('a rack bv, b other -')

    def add(number, **attributes):
        new = addArtifact(launcher, timestamp=number)
        launcher.addUpload(new, 'rack', 'a', **READY | {
            'validated': True, 'external_id': new.uuid})
        return launcher.addUpload(new, 'other', 'b', **attributes)
    for number in range(1, 4):
        upload = add(number, _state='pending')
        launcher.images.builds.reconcile()
        with launcher.context() as context:
            upload.updateAttributes(context, _state='failed', validated=False,
                                    build_uuid='build')
        waitFor(lambda each=upload: each.state == 'failed')
        launcher.images.builds.reconcile()
        # Minutes have to pass before the next one.
        assert getAsked(launcher, 'image-build') == ['a'] * (number == 1)
        passOn(launcher, 'a')
