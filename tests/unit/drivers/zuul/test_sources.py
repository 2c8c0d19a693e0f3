"""Images that the jobs of other images build are found by these."""

import pytest

from tests.fixtures.pipelines import readImageLayout
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.zuul.site import (
    DEBIAN,
    FEDORA,
    JOBS,
    JOBS_FILE,
    getBuild,
    makeArtifact,
)
from zuul_nodes import undelivered

ONE_JOB = {JOBS_FILE: JOBS.replace('build-fedora, ', '')}
BOTH = makeArtifact(), makeArtifact(image_name='fedora')


@pytest.fixture
def site(makeSite):
    """A tenant that needs two images, and has a job of one of them."""
    site = makeSite(ONE_JOB)
    site.needFormats('raw', name=FEDORA)
    return site


def read(site):
    return readImageLayout(site.scheduler.zk_client.client, 'tenant')


def getBuilding(site):
    """:return: the pipelines that build fedora, and the image that they build
        it with."""
    layout = read(site)
    return layout.getRuns(FEDORA, 'image-build'), layout.getSource(FEDORA)


def test_job_of_another_image_is_found_by_what_it_returns(site):
    assert getBuilding(site) == ([], FEDORA)
    site.report(site.makeItem(*BOTH))
    assert getBuilding(site) == (['build'], DEBIAN)
    # It stays when the tenant has another layout.
    site.loaded.load()
    site.scheduler.publish(site.loaded)
    assert read(site).layout_uuid == site.loaded.layout.uuid
    assert getBuilding(site) == (['build'], DEBIAN)
    # Only builds come from it.
    assert read(site).getRuns(FEDORA, 'image-validate') == []


def test_own_job_counts_before_that_of_another_image(makeSite):
    site = makeSite()
    site.needFormats('raw', name=FEDORA)
    before = read(site)
    site.report(site.makeItem(*BOTH))
    assert len(site.artifacts) == 2
    assert read(site) == before


def test_own_job_that_is_new_counts(site, loadTenant):
    site.report(site.makeItem(*BOTH))
    site.scheduler.publish(loadTenant())
    assert getBuilding(site) == (['build'], FEDORA)


def test_job_that_does_not_return_the_image_any_more(site):
    site.report(site.makeItem(*BOTH))
    item = site.makeItem(makeArtifact())
    getBuild(item)._set(result='FAILURE')
    site.report(item)
    assert getBuilding(site) == (['build'], DEBIAN)
    site.report(site.makeItem(makeArtifact()))
    assert getBuilding(site) == ([], FEDORA)


def test_image_that_is_not_needed_need_not_be_returned(makeSite):
    site = makeSite(ONE_JOB)
    site.needFormats('raw', name=FEDORA)
    site.report(site.makeItem(*BOTH))
    del site.loaded.layout.image_formats
    site.report(site.makeItem(makeArtifact()))
    assert getBuilding(site) == (['build'], DEBIAN)


def test_job_that_returns_only_another_image(site):
    """Otherwise, launchers would request such builds without end."""
    item = site.makeItem(makeArtifact(image_name='fedora'))
    site.report(item)
    assert [artifact.name for artifact in site.artifacts] == ['fedora']
    warning, = item.current_build_set.warning_messages
    assert ('The image "debian" is needed in the format raw, but no '
            'artifact of these builds has it') in warning
    assert undelivered.read(site.scheduler.zk_client.client, DEBIAN)[
        'tenant'].formats == {'raw'}
    assert getBuilding(site) == (['build'], DEBIAN)


def test_job_that_returns_nothing_is_on_record(site):
    site.report(site.makeItem())
    assert undelivered.read(site.scheduler.zk_client.client, DEBIAN)[
        'tenant'].formats == {'raw'}


def test_image_that_operators_do_not_let_the_tenant_build(
        zuul_conf, makeSite):
    zuul_conf.read_dict({'launcher': {'image_build_tenants': 'infra'}})
    site = makeSite(ONE_JOB)
    site.needFormats('raw', name=FEDORA)
    site.report(site.makeItem(*BOTH))
    assert getBuilding(site) == ([], FEDORA)


def test_button_for_the_image_names_the_other(site):
    site.report(site.makeItem(*BOTH))
    driver = site.loaded.driver
    waitFor(lambda: driver.pipelines.get('tenant') == read(site))

    def explain(name, event='image-build'):
        return driver.explainNoImageJob(site.loaded.tenant, name, event)
    assert explain(FEDORA) == (
        'The image "fedora" comes from jobs of the image "debian". Request a '
        'build of that image')
    assert explain(DEBIAN) is None
    assert explain(FEDORA, 'image-validate').startswith('Attach a job with')


def test_job_is_found_before_a_provider_needs_the_image(makeSite):
    site = makeSite(ONE_JOB)
    site.report(site.makeItem(*BOTH))
    assert [each.canonical_name for each in site.artifacts] == [DEBIAN]
    assert getBuilding(site) == (['build'], DEBIAN)
