"""Users are warned of images that no tenant builds, as long as it is so."""

import pytest

from tests.fixtures.pipelines import readImageLayout
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.zuul.site import (
    IMAGES,
    IMAGES_FILE,
    JOBS,
    JOBS_FILE,
    PIPELINES,
    PIPELINES_FILE,
    PROVIDERS,
    PROVIDERS_FILE,
)
from zuul_nodes import imagelayouts, zkrecords

# Tenants have the same images, but jobs of their own.
BOTH = {JOBS_FILE: JOBS}
NO_FEDORA = {JOBS_FILE: JOBS.replace('[build-debian, build-fedora, other]',
                                     '[build-debian, other]')}
NO_JOBS = {JOBS_FILE: None}
NO_TRIGGER = {PIPELINES_FILE: PIPELINES.replace('image-build\n',
                                                'image-delete\n')}
NO_REPORTER = {PIPELINES_FILE: PIPELINES.replace('image-built: true',
                                                 'image-validated: true')}


# The validation of either image needs a node of the other one.
CIRCLE = {
    IMAGES_FILE: IMAGES + '''
- label: {name: fedora, image: fedora, flavor: small}
''',
    PROVIDERS_FILE: PROVIDERS.replace('stock]', 'stock, fedora]'),
    JOBS_FILE: JOBS.replace('validate: *jobs', '''validate:
      jobs:
        - build-debian:
            nodeset: both
        - build-fedora:
            nodeset: {alternatives: [both]}
''') + '''
- nodeset:
    name: both
    nodes: [{name: one, label: debian}, {name: two, label: fedora}]
'''}


class Site:
    """zuul-web, and a scheduler of the same tenants."""

    def __init__(self, loadTenant, makeScheduler, makeWeb):
        self.loadTenant = loadTenant
        self.web = makeWeb(loadTenant())
        self.scheduler = makeScheduler(loadTenant())
        self.client = self.scheduler.zk_client.client
        self.removeTenant('tenant')
        zkrecords.delete(self.client, imagelayouts.getPath('tenant'))

    def addTenant(self, name, files):
        """A tenant is there, or has another layout."""
        self.load(name, files)
        self.publish(name, files)

    def load(self, name, files):
        self.web.addTenant(self.loadTenant(files).tenant, name)

    def publish(self, name, files):
        self.scheduler.publish(self.loadTenant(files), name)

    def removeTenant(self, name):
        """Its record stays."""
        del self.web.service.abide.tenants[name]
        del self.web.service.local_layout_state[name]

    def getErrors(self, tenant, query=''):
        status, errors = self.web.ask(f'config-errors{query}', tenant=tenant)
        assert status == 200
        return errors

    def getImages(self, tenant):
        """:return: the names of images that a tenant is warned of."""
        return [error['short_error'].split('"')[1]
                for error in self.getErrors(tenant)]


@pytest.fixture
def site(loadTenant, makeScheduler, makeWeb):
    return Site(loadTenant, makeScheduler, makeWeb)


@pytest.mark.parametrize('a, b, expected', [
    (BOTH, BOTH, []), (BOTH, NO_JOBS, []), (NO_JOBS, BOTH, []),
    (NO_JOBS, NO_FEDORA, ['fedora']), (NO_FEDORA, NO_FEDORA, ['fedora']),
    (NO_JOBS, NO_JOBS, ['debian', 'fedora']),
    (NO_TRIGGER, NO_FEDORA, ['fedora']),
    (NO_REPORTER, NO_TRIGGER, ['debian', 'fedora'])])
def test_images_that_no_tenant_builds(site, a, b, expected):
    site.addTenant('a', a)
    site.addTenant('b', b)
    assert site.getImages('a') == site.getImages('b') == expected


def test_warning_is_at_the_image_in_its_project(site):
    site.addTenant('a', NO_FEDORA)
    warning, = site.getErrors('a')
    assert warning['source_context'] == {
        'project': 'nodes', 'branch': 'main', 'path': 'zuul.d/images.yaml'}
    assert warning['severity'] == 'warning'
    assert warning['name'] == 'Image Not Built'
    assert warning['short_error'] == (
        'No tenant builds the image "fedora" when it is missing. Attach a job '
        'with "image-build-name: fedora" to a pipeline with the trigger event '
        '"image-build" and the reporter "image-built: true", in the '
        'configuration of the project example.com/nodes on the branch main. '
        'This tenant has such pipelines: build')
    for text in ('in the repo nodes on branch main', 'name: fedora',
                 'zuul.d/images.yaml@main", line 3'):
        assert text in warning['error']


@pytest.mark.parametrize('files', [NO_TRIGGER, NO_REPORTER])
def test_warning_of_a_tenant_without_pipelines(site, files):
    site.addTenant('a', files)
    site.addTenant('b', NO_JOBS)
    assert all(error['short_error'].endswith(
        'This tenant has no such pipeline') for error in site.getErrors('a'))
    # What others have is not said.
    assert all(error['short_error'].endswith('pipelines: build')
               for error in site.getErrors('b'))


def test_warning_of_a_tenant_that_may_not_build(
        loadTenant, makeScheduler, makeWeb, zuul_conf):
    zuul_conf.read_dict({'launcher': {
        'image_build_tenants': 'example.com/nodes=c'}})
    site = Site(loadTenant, makeScheduler, makeWeb)
    site.addTenant('a', BOTH)
    warning, _ = site.getErrors('a')
    assert warning['short_error'] == (
        'No tenant builds the image "debian" when it is missing. The '
        'tenant "a" may not build images of the project example.com/nodes, '
        'because "image_build_tenants" in [launcher] of zuul.conf does not '
        'list it; an operator can add "example.com/nodes=a" there')
    site.addTenant('c', BOTH)
    waitFor(lambda: site.getErrors('a') == [])


def test_warning_names_images_whose_validations_need_each_other(site):
    site.addTenant('a', CIRCLE)
    warnings = site.getErrors('a')
    assert {each['name'] for each in warnings} == {'Image Never Validated'}
    assert [each['short_error'] for each in warnings] == [
        f'No job can validate the image "{name}" before it is in service: its '
        f'validation needs a node of the image "{other}", and that of '
        f'"{other}" needs one of "{name}". In the nodesets of validation '
        'jobs, use labels of the image itself, or of an image that does not '
        'need it' for name, other in (
            ('debian', 'fedora'), ('fedora', 'debian'))]
    # Another tenant can begin.
    site.addTenant('b', BOTH)
    waitFor(lambda: site.getErrors('a') == [])


def test_warning_comes_and_goes_with_the_layouts_of_others(site):
    site.addTenant('a', NO_JOBS)
    site.addTenant('b', NO_FEDORA)
    assert site.getImages('a') == ['fedora']
    site.publish('b', BOTH)
    waitFor(lambda: site.getImages('a') == [])
    site.publish('b', NO_JOBS)
    waitFor(lambda: site.getImages('a') == ['debian', 'fedora'])
    site.addTenant('c', BOTH)
    assert site.getImages('a') == []
    site.removeTenant('c')
    assert site.getImages('a') == ['debian', 'fedora']


def test_a_tenant_that_is_not_known_may_build_them(site):
    """When all of them are loaded for the first time."""
    site.addTenant('a', NO_JOBS)
    site.load('b', BOTH)
    assert site.getImages('a') == []
    # Nor does a tenant of which nothing is known.
    assert site.getImages('b') == []
    site.publish('b', NO_FEDORA)
    waitFor(lambda: site.getImages('a') == ['fedora'])


@pytest.mark.parametrize('data', [b'?', b'{}'])
def test_a_record_that_can_not_be_read(site, data):
    site.addTenant('a', NO_JOBS)
    site.load('b', BOTH)
    zkrecords.write(site.client, imagelayouts.getPath('b'), data)
    assert site.getImages('a') == []


def test_a_scheduler_of_the_last_release_does_not_tell_what_runs(site):
    site.addTenant('a', NO_FEDORA)
    site.addTenant('b', BOTH)
    layout = readImageLayout(site.client, 'b')
    for image in layout.images.values():
        del image['runs']
    imagelayouts.publish(site.client, 'b', layout)
    waitFor(lambda: site.web.service.connections.drivers['zuul'].pipelines.get(
        'b') == layout)
    assert site.getImages('a') == []


def test_an_image_that_only_this_layout_has_is_not_known(site):
    """zuul-web has a layout before or after a scheduler records it."""
    site.publish('a', NO_JOBS)
    site.load('a', NO_JOBS | {IMAGES_FILE: IMAGES + '''
- image: {name: arch, type: zuul}
'''})
    assert site.getImages('a') == ['debian', 'fedora']


def test_tenants_with_other_images_do_not_matter(site):
    site.addTenant('a', NO_JOBS)
    site.addTenant('b', NO_FEDORA | {
        IMAGES_FILE: IMAGES.replace('fedora', 'arch')})
    assert site.getImages('a') == ['fedora']
    assert site.getImages('b') == ['arch']


def test_warnings_are_counted_and_filtered_as_errors_are(site):
    files = NO_JOBS | {IMAGES_FILE: IMAGES + '''
- image: {name: wrong, type: zuul, usrname: me}
'''}
    site.loadTenant = lambda files, load=site.loadTenant: load(
        files, complete=False)
    site.addTenant('a', files)
    names = site.getImages('a')
    assert names == ['wrong', 'debian', 'fedora', 'wrong']
    status, answer = site.web.ask('tenant-status', tenant='a')
    assert (status, answer) == (200, {'config_error_count': 4})
    assert len(site.getErrors('a', '?severity=warning')) == 3
    assert len(site.getErrors('a', '?severity=error')) == 1
    assert len(site.getErrors('a', '?name=Image+Not+Built&project=nodes')) == 3
    assert site.getErrors('a', '?project=config') == []
    assert site.getErrors('a', '?limit=1&skip=1') == [site.getErrors('a')[1]]


def test_driver_in_trouble(site, monkeypatch, caplog):
    def fail(tenant):
        raise RuntimeError('no idea')
    site.addTenant('a', NO_JOBS)
    monkeypatch.setattr(site.web.service.connections.drivers['zuul'],
                        'getConfigurationWarnings', fail)
    assert site.getErrors('a') == []
    assert 'no idea' in caplog.text
