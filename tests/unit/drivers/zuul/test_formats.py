"""Jobs learn the formats in which providers want an image."""

import configparser
import types

import pytest
from zuul.executor.client import ExecutorClient

from tests.fixtures.waiting import waitFor
from tests.unit.configloader.tenant import CONFIG
from tests.unit.drivers.zuul.site import (
    IMAGES,
    IMAGES_FILE,
    JOBS,
    JOBS_FILE,
    PROVIDERS,
    PROVIDERS_FILE,
)
from zuul_nodes import imagelayouts, zkrecords
from zuul_nodes.drivers.zuul.layouts import makeImageLayout

NEW_IMAGE = '''
- image: {name: arch, type: zuul}
'''
NEW_PROVIDER = '''
- section:
    name: other
    connection: other
    images: [arch]
    flavors: [small]
- provider: {name: other, section: other}
'''


def getFormats(loaded, layout=None, image='debian'):
    """:return: what Zuul puts into the parameters of a build."""
    client = ExecutorClient.__new__(ExecutorClient)
    client.sched = types.SimpleNamespace(connections=loaded.connections)
    manager = types.SimpleNamespace(
        tenant=loaded.tenant, getLayout=lambda item: layout)
    return client.getImageFormats(
        types.SimpleNamespace(image_build_name=image),
        types.SimpleNamespace(manager=manager))


@pytest.fixture
def loadTenant(loadTenant):
    def load(*args, **kwargs):
        loaded = loadTenant(*args, **kwargs)
        loaded.driver.registerScheduler(types.SimpleNamespace(
            local_layout_state={'tenant': None},
            config=configparser.ConfigParser()))
        return loaded
    return load


@pytest.fixture
def loaded(loadTenant):
    return loadTenant()


@pytest.fixture
def scheduler(makeScheduler, loaded):
    return makeScheduler(loaded)


def wantVhd(loaded):
    loaded.layout.providers['rack'].images['debian'].format = 'vhd'


def test_formats_of_all_tenants_that_have_the_image(
        loaded, loadTenant, scheduler):
    other = loadTenant()
    wantVhd(other)
    scheduler.publish(other, 'other')
    assert getFormats(loaded) == ['raw', 'vhd']
    # Also for a change of a tenant.
    layout, _ = loaded.propose({PROVIDERS_FILE: PROVIDERS.replace(
        'debian, stock', 'stock')})
    assert getFormats(loaded, layout) == ['vhd']


def test_formats_are_those_of_the_last_layout_of_a_tenant(
        loaded, loadTenant, scheduler):
    other = loadTenant()
    scheduler.publish(other, 'other')
    assert getFormats(loaded) == ['raw']
    wantVhd(other)
    scheduler.publish(other, 'other')
    waitFor(lambda: getFormats(loaded) == ['raw', 'vhd'])
    # Its record stays when it is gone.
    del scheduler.local_layout_state['other']
    assert getFormats(loaded) == ['raw']


def test_formats_of_an_image_of_the_same_name_are_not_meant(
        loaded, loadTenant, scheduler):
    other = loadTenant({
        IMAGES_FILE: None, (CONFIG, 'main', 'zuul.d/images.yaml'): IMAGES})
    wantVhd(other)
    scheduler.publish(other, 'other')
    assert getFormats(loaded) == ['raw']


def test_a_provider_in_error_of_another_tenant_may_want_the_image(
        loaded, loadTenant, scheduler):
    scheduler.publish(loadTenant({PROVIDERS_FILE: PROVIDERS.replace(
        'connection: rack', 'connection: rock')}, complete=False), 'other')
    assert getFormats(loaded) == ['raw']
    assert getFormats(loaded, image='fedora') is None


def test_a_tenant_of_which_no_scheduler_has_told_may_want_the_image(
        loaded, scheduler):
    scheduler.local_layout_state['other'] = None
    assert getFormats(loaded) == ['raw']
    assert getFormats(loaded, image='fedora') is None


def test_a_scheduler_of_the_last_release_does_not_tell_formats(
        loaded, loadTenant, scheduler):
    other = loadTenant()
    scheduler.publish(other, 'other')
    layout = makeImageLayout(other.tenant)
    for image in layout.images.values():
        del image['formats']
    imagelayouts.publish(scheduler.zk_client.client, 'other', layout)
    assert getFormats(loaded) == ['raw']
    waitFor(lambda: getFormats(loaded, image='fedora') is None)


def test_a_record_that_can_not_be_read_does_not_concern_other_tenants(
        loaded, loadTenant, scheduler, caplog):
    other = loadTenant()
    wantVhd(other)
    scheduler.publish(other, 'other')
    scheduler.local_layout_state['broken'] = None
    zkrecords.write(scheduler.zk_client.client,
                    imagelayouts.getPath('broken'), b'?')
    assert getFormats(loaded) == ['raw', 'vhd']
    assert 'of the tenant broken is invalid' in caplog.text


def test_formats_of_providers(loaded):
    # The provider of static nodes has the image, too.
    assert 'debian' in loaded.layout.providers['desk'].images
    assert getFormats(loaded) == ['raw']


def test_formats_are_sorted(loaded):
    images = loaded.layout.providers['desk'].images
    for image_format in ('qcow2', 'vhd', 'ova', 'img'):
        images[image_format] = types.SimpleNamespace(
            canonical_name=images['debian'].canonical_name,
            format=image_format)
    assert getFormats(loaded) == ['img', 'ova', 'qcow2', 'raw', 'vhd']


def test_image_without_provider(loaded):
    assert getFormats(loaded, image='fedora') == []
    assert getFormats(loaded, image='unheard-of') == []


def test_job_that_builds_no_image(loaded):
    assert getFormats(loaded, image=None) is None


def test_change_that_adds_an_image_and_a_provider(loaded):
    layout, _ = loaded.propose({IMAGES_FILE: IMAGES + NEW_IMAGE,
                                PROVIDERS_FILE: PROVIDERS + NEW_PROVIDER})
    assert 'other' not in layout.providers
    assert getFormats(loaded, layout, 'arch') == ['raw']
    assert getFormats(loaded, layout, 'debian') == ['raw']
    # Others have to wait.
    assert getFormats(loaded, image='arch') == []


def test_change_that_takes_an_image_from_its_provider(loaded):
    layout, _ = loaded.propose({PROVIDERS_FILE: PROVIDERS.replace(
        'debian, stock', 'stock')})
    assert getFormats(loaded, layout) == []
    assert getFormats(loaded) == ['raw']


@pytest.mark.parametrize('before, after', [
    ('labels: [debian, stock]', 'labels: [{name: debian, min-redy: 1}]'),
    ('labels: [debian, stock]', 'labels: 3'),
    ('connection: rack', 'connection: rock'),
    ('connection: rack', 'connection: [rack]')])
def test_a_provider_in_error_does_not_mean_that_no_format_is_wanted(
        loadTenant, caplog, before, after):
    assert before in PROVIDERS
    loaded = loadTenant({PROVIDERS_FILE: PROVIDERS.replace(before, after)},
                        complete=False)
    assert 'rack' not in loaded.layout.providers
    assert getFormats(loaded) is None
    assert 'formats of the image debian are unknown' in caplog.text
    # Nor in a change of something else.
    layout, _ = loaded.propose({JOBS_FILE: JOBS.replace('other', 'others')})
    assert getFormats(loaded, layout) is None
    # A change that repairs it is told what will be wanted.
    layout, _ = loaded.propose({PROVIDERS_FILE: PROVIDERS})
    assert getFormats(loaded, layout) == ['raw']


def test_formats_that_are_known_though_a_provider_is_in_error(loadTenant):
    loaded = loadTenant({PROVIDERS_FILE: PROVIDERS + '''
- provider: {name: broken, section: missing}
'''}, complete=False)
    assert getFormats(loaded) == ['raw']
    assert getFormats(loaded, image='fedora') is None


def test_an_error_elsewhere_does_not_matter(loadTenant):
    loaded = loadTenant({PROVIDERS_FILE: PROVIDERS + '''
- section: {name: broken, parent: 3}
'''}, complete=False)
    assert loaded.errors
    assert getFormats(loaded, image='fedora') == []


def test_change_of_something_else(loaded):
    layout, _ = loaded.propose({JOBS_FILE: '''
- job: {name: nothing}
'''})
    assert getFormats(loaded, layout) == ['raw']


def test_driver_in_trouble(loaded, monkeypatch, caplog):
    def fail(layout, proposed):
        raise RuntimeError('no idea')
    monkeypatch.setattr(loaded.driver, 'keepImageFormats', fail)
    layout, _ = loaded.propose({IMAGES_FILE: IMAGES + NEW_IMAGE})
    assert 'no idea' in caplog.text
    assert getFormats(loaded, layout) == ['raw']


def test_zuuls_own_driver(loaded):
    loaded.connections.drivers['zuul'] = object()
    del loaded.layout.providers['desk']
    assert getFormats(loaded) == {'raw'}
