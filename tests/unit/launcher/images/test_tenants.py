"""One image and several tenants: who builds, validates and deletes it, and
whose providers want it.
"""

import pytest

from tests.fixtures.images import LAYOUT, PROVIDER
from tests.fixtures.imagetenants import (
    DEBIAN,
    READY,
    addArtifact,
    addUpload,
    getAsked,
    passOn,
    publish,
)
from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.waiting import waitFor
from zuul_nodes import imagecontrols, imageevents, undelivered
from zuul_nodes.imageevents import EventKind, Sent
from zuul_nodes.imagelayouts import ImageLayout
from zuul_nodes.launcher.images import KEY, policy
from zuul_nodes.launcher.images.tenants import choose
from zuul_nodes.launcher.providers import Scope
from zuul_nodes.launcher.settings import Settings


@pytest.fixture
def launcher(image_launcher):
    image_launcher.setLayout(None)
    return image_launcher


# Who builds

@pytest.mark.parametrize('tenants, asked', [
    ('a rack b, b rack b', ['a']),
    # It has the pipeline, but its jobs do not run there.
    ('a rack vd, b - b', ['b']),
    # It has no provider, but wants to build it for others.
    ('a - b, b rack -', ['a']),
    ('a rack -, b other -, c - b', ['c']),
    ('a rack vd, b other v', []),
])
def test_tenant_that_builds(launcher, write, tenants, asked):
    write(tenants)
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == asked


def test_tenants_are_asked_for_a_build_in_turn(launcher, write, jump):
    """What one of them builds may come to nothing each time."""
    write('a rack b, b rack -, c - b')
    asked = []
    for number in range(4):
        jump(number * 2 * Settings.image_longest_backoff)
        launcher.images.builds.reconcile()
        name, = getAsked(launcher, 'image-build')
        asked.append(name)
        passOn(launcher, name)
    assert asked == ['a', 'c', 'a', 'c']


@pytest.mark.parametrize('moved', [
    'a rack vd, b rack b', 'a - -, b other b', 'a gone, b rack b'])
def test_build_moves_along_with_the_pipeline(launcher, write, moved):
    write('a rack b, b rack -')
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['a']
    passOn(launcher, 'a')
    write(moved)
    for _ in range(2):
        launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['b']


def test_build_that_is_under_way_elsewhere_does_not_move(
        launcher, write):
    write('a rack b, b rack -')
    launcher.images.builds.reconcile()
    write('a rack vd, b rack b')
    # The pipeline has gone, but nobody has taken the event yet.
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['a']


def test_an_image_that_no_tenant_builds_is_logged_once(
        launcher, write, caplog):
    write('a rack vd, b other -')
    for _ in range(2):
        launcher.images.builds.reconcile()
    said, = [record.getMessage() for record in caplog.records
             if 'no tenant builds it' in record.getMessage()]
    assert 'is missing in the format raw' in said
    write('b other b')
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['b']


def test_an_image_is_missing_in_each_format_that_a_tenant_wants(
        launcher, write, caplog):
    caplog.set_level('INFO', 'zuul')
    write('a rack b, b other -')
    launcher.getProvider('other', 'b').images['debian'].format = 'vhd'
    addArtifact(launcher)
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['a']
    assert 'is missing: vhd: ' in caplog.text


@pytest.fixture
def lackVhd(launcher):
    """:return: a function that has a tenant build the image, in the format
        raw alone."""
    def lackVhd(tenant, layout_uuid='layout'):
        passOn(launcher, tenant)
        undelivered.write(
            launcher.zk_client.client, DEBIAN, tenant,
            undelivered.Undelivered(layout_uuid, {'vhd'}))
    return lackVhd


@pytest.fixture
def wantVhd(launcher, write):
    """:return: a function that writes tenants; b wants vhd, and raw is
        there."""
    def wantVhd(text):
        write(text)
        launcher.getProvider('other', 'b').images['debian'].format = 'vhd'
        addArtifact(launcher)
    return wantVhd


def test_no_build_for_a_format_that_the_last_one_has_not(
        launcher, wantVhd, lackVhd, jump, caplog):
    wantVhd('a rack b, b other -')
    launcher.images.builds.reconcile()
    lackVhd('a')
    jump(Settings.image_longest_backoff)
    for _ in range(2):
        launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == []
    said = 'missing in the format vhd, which successful builds of the tenants'
    assert caplog.text.count(said) == 1
    # It may have another job by now.
    lackVhd('a', 'former')
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['a']


def test_another_tenant_may_build_the_format(
        launcher, wantVhd, lackVhd, jump):
    wantVhd('a rack b, b other b')
    launcher.images.builds.reconcile()
    lackVhd('a')
    for number in (1, 2):
        jump(number * Settings.image_longest_backoff)
        launcher.images.builds.reconcile()
        assert getAsked(launcher, 'image-build') == ['b']
        passOn(launcher, 'b')


def test_another_format_is_asked_for(launcher, wantVhd, lackVhd, jump):
    wantVhd('a rack b, b other -')
    lackVhd('a')
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == []
    launcher.getProvider('rack', 'a').images['debian'].format = 'qcow2'
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['a']


def test_a_missing_format_is_forgotten_when_it_is_uploaded(
        launcher, wantVhd, lackVhd):
    wantVhd('a rack b, b other -')
    lackVhd('a')
    launcher.addUpload(
        addArtifact(launcher, format='vhd'), 'other', 'b', **READY | {
            'validated': True})
    launcher.addUpload(
        addArtifact(launcher), 'rack', 'a', **READY | {'validated': True})
    launcher.images.builds.reconcile()
    assert launcher.records.undelivered.get() == set()


# Images that the jobs of another image build

FEDORA = DEBIAN.replace('debian', 'fedora')


@pytest.fixture
def withFedora(launcher):
    """:return: a function that writes a tenant that needs two images, of
        which its jobs of one build both."""
    def withFedora():
        launcher.setLayout(LAYOUT + PROVIDER.replace('NAME', 'rack'), 'a')
        common = {'project': 'example.com/nodes', 'runs': {
            'image-build': ['image-build'], 'image-validate': [],
            'image-delete': []}}
        publish(launcher, 'a', 'b')
        launcher.pipelines.publish(tenant='a', pipelines=PIPELINES, images={
            DEBIAN: common | {'name': 'debian', 'branch': 'stable'},
            FEDORA: common | {'name': 'fedora', 'branch': 'main',
                              'source': DEBIAN}})
    return withFedora


def getNames(launcher):
    return [(*event.image_names, event.branch)
            for event in launcher.pipelines.all_events['a']]


def test_event_names_the_image_whose_jobs_build_it(
        launcher, withFedora, caplog):
    withFedora()
    addArtifact(launcher)
    for _ in range(2):
        launcher.images.builds.reconcile()
    assert getNames(launcher) == [('debian', 'stable')]
    assert 'no tenant builds it' not in caplog.text
    assert launcher.jobs.events.get(EventKind.BUILD, FEDORA)


def test_one_build_is_requested_for_both_images(launcher, withFedora):
    withFedora()
    for _ in range(2):
        launcher.images.builds.reconcile()
    assert getNames(launcher) == [('debian', 'stable')]


def test_operator_orders_a_build_of_the_image_whose_jobs_build_it(
        launcher, withFedora):
    withFedora()
    for name in ('debian', 'fedora'):
        addArtifact(launcher, image=name)
    imagecontrols.add(launcher.zk_client.client, imagecontrols.Control.ORDERED,
                      FEDORA, 'test')
    waitFor(launcher.records.steering.getOrdered)
    launcher.images.builds.reconcile()
    assert getNames(launcher) == [('debian', 'stable')]


# Who validates

@pytest.mark.parametrize('tenants, build_tenant, of, asked', [
    # That of the build comes first.
    ('a rack v, b rack v', 'b', 'a rack', ['b']),
    # It can't boot what only another tenant's provider uses.
    ('a rack bv, b other v', 'a', 'b other', ['b']),
    ('a - bv, b other v, c rack v', 'a', 'b other', ['b']),
    # Nobody can.
    ('a rack bv, b other -', 'a', 'b other', []),
    ('a rack b, b rack b', 'a', 'a rack', []),
    # Its tenant is gone, or has no pipeline any more.
    ('b rack v', 'a', 'b rack', ['b']),
    ('a rack b, b rack v', 'a', 'a rack', ['b']),
])
def test_tenant_that_validates(
        launcher, write, tenants, build_tenant, of, asked):
    write(tenants)
    addUpload(launcher, *of.split(), build_tenant=build_tenant)
    launcher.images.validation.reconcile(launcher.getUploads())
    assert getAsked(launcher, 'image-validate') == asked


def test_an_upload_that_no_tenant_can_validate_has_a_remark(
        launcher, write, caplog):
    write('a rack bv, b other -')
    upload = addUpload(launcher, 'b', 'other')
    for _ in range(2):
        launcher.images.validation.reconcile(launcher.getUploads())
    assert caplog.text.count('no tenant validates it') == 1
    assert 'no tenant validates it' in launcher.records.remarks.getRemark(
        upload.uuid)
    write('b other v')
    launcher.images.validation.reconcile(launcher.getUploads())
    assert getAsked(launcher, 'image-validate') == ['b']
    assert launcher.records.remarks.getRemark(upload.uuid) is None


def test_a_label_is_needed_to_boot_an_upload(launcher, write):
    write('a rack bv, b - -')
    launcher.setLayout(
        LAYOUT + PROVIDER.replace('NAME', 'rack').replace(
            'labels: [debian,', 'labels: ['), 'a')
    addUpload(launcher, 'a', 'rack')
    launcher.images.validation.reconcile(launcher.getUploads())
    assert getAsked(launcher, 'image-validate') == []


@pytest.mark.parametrize('moved', [
    'a rack b, b rack bv',
    # Its provider, or all of it.
    'a other bv, b rack v', 'a gone, b rack v'])
def test_validation_moves_along_with_pipeline_or_provider(
        launcher, write, moved):
    write('a rack bv, b rack b')
    addUpload(launcher, 'a', 'rack')
    launcher.images.validation.reconcile(launcher.getUploads())
    assert getAsked(launcher, 'image-validate') == ['a']
    # Zuul drops what no pipeline takes.
    passOn(launcher, 'a')
    write(moved)
    for _ in range(2):
        launcher.images.validation.reconcile(launcher.getUploads())
    assert getAsked(launcher, 'image-validate') == ['b']


# Who deletes

@pytest.mark.parametrize('tenants, asked', [
    ('a rack d, b rack d', ['a']),
    ('a rack bv, b rack d', ['b']),
    ('b other b, c - d', ['c']),
])
def test_tenant_that_deletes(launcher, write, tenants, asked):
    write(tenants)
    launcher.queue.start()
    addArtifact(launcher, _state='deleting')
    waitFor(lambda: getAsked(launcher, 'image-delete'))
    assert getAsked(launcher, 'image-delete') == asked


def test_deletion_moves_along_with_the_pipeline(launcher, write):
    write('a rack d, b rack -')
    launcher.queue.start()
    artifact = addArtifact(launcher, _state='deleting')
    waitFor(lambda: getAsked(launcher, 'image-delete') == ['a'])
    write('a rack -, b rack d')
    passOn(launcher, 'a')
    launcher.queue.add(KEY)
    waitFor(lambda: getAsked(launcher, 'image-delete') == ['b'])
    assert launcher.builds.getItem(artifact.uuid)
    imageevents.noteDeletion(launcher.zk_client.client, artifact.uuid, None)
    passOn(launcher, 'b')
    launcher.queue.add(KEY)
    waitFor(lambda: not launcher.builds.getItem(artifact.uuid))


def test_record_of_an_artifact_without_delete_job_is_removed(launcher, write):
    write('a rack bv, b rack b')
    launcher.queue.start()
    artifact = addArtifact(launcher, _state='deleting')
    waitFor(lambda: not launcher.builds.getItem(artifact.uuid))
    assert getAsked(launcher, 'image-delete') == []


# The turns

@pytest.mark.parametrize('last, chosen', [
    (None, 'b'), ('b', 'a'), ('a', 'c'), ('c', 'b'), ('gone', 'b')])
def test_turn_of_tenants(last, chosen):
    sent = last and Sent(last, 1, 0, 0)
    assert choose(dict.fromkeys('bac'), sent) == chosen


def test_no_tenant_is_chosen_of_none():
    assert choose({}, None) is None


def test_schedulers_of_the_last_release_run_nothing():
    layout = ImageLayout('layout', {}, {DEBIAN: {'jobs': True}})
    assert layout.getRuns(DEBIAN, EventKind.BUILD) == []


# Providers that are renamed, moved or removed

CHANGES = {
    # Nobody has a provider any more where the upload is.
    'removed': ('a - b, b other b', []),
    'removed with its tenant': ('a gone -, b other b', []),
    'the other tenant has it': ('a - b, b rack b', ['image']),
    'nothing': ('a rack b, b other b', ['image'])}


@pytest.mark.parametrize('change', CHANGES)
def test_upload_goes_with_the_last_provider_of_it(
        launcher, write, retire, change):
    write('a rack b, b other b')
    addUpload(launcher, 'a', 'rack', validated=True)
    tenants, left = CHANGES[change]
    write(tenants)
    assert retire() == ['image']
    launcher.change(unneeded_image_delay=0)
    assert retire() == left


def test_upload_goes_with_a_provider_that_has_moved(
        launcher, write, retire):
    write('a rack b, b rack b')
    upload = addUpload(launcher, 'a', 'rack', validated=True)
    write('b - b')
    launcher.setLayout(LAYOUT + PROVIDER.replace('NAME', 'rack').replace(
        'connection: rack', 'connection: other'), 'a')
    provider = launcher.getProvider('rack', 'a')
    # Nothing there is of that name.
    assert not policy.isInService(upload, provider.images['debian'], provider)
    assert not launcher.jobs.tenants.canBoot('a', upload)
    assert retire() == ['image']
    launcher.change(unneeded_image_delay=0)
    launcher.images.retention.reconcile()
    waitFor(lambda: not launcher.getUploads())


@pytest.mark.settings(unneeded_image_delay=0)
def test_renamed_provider_takes_uploads_over(
        launcher, write, retire, monkeypatch):
    write('a rack b')
    uploads = [addUpload(launcher, 'a', 'rack', validated=True, providers=[
        'example.com%2Fnodes/former'], external_id=f'{number}')
        for number in range(3)]
    provider = launcher.getProvider('rack', 'a')
    assert policy.isInService(
        uploads[-1], provider.images['debian'], provider)
    # As many are kept as ever.
    assert retire() == ['1', '2']


@pytest.mark.settings(unneeded_image_delay=0)
@pytest.mark.parametrize('attributes', [
    {'layout_uuid': 'former'}, {'broken': ['example.com/nodes']}], ids=str)
def test_upload_stays_while_its_provider_may_be_there(
        launcher, write, retire, monkeypatch, attributes):
    write('a rack b, b other b')
    addUpload(launcher, 'a', 'rack', validated=True)
    write('a - b')
    launcher.pipelines.publish(tenant='b', **attributes)
    assert retire() == ['image']
    launcher.pipelines.publish(tenant='b')
    assert retire() == []


def test_upload_that_an_operator_deletes_goes_at_once(
        launcher, write, retire):
    write('a rack b, b other b')
    upload = addUpload(launcher, 'a', 'rack', validated=True)
    write('a - b')
    launcher.setState(
        launcher.builds.getItem(upload.artifact_uuid),
        'deleting')
    assert retire() == []


@pytest.mark.settings(unneeded_image_delay=0)
def test_artifact_goes_with_the_last_provider(
        launcher, write, retire, monkeypatch, jump):
    write('a rack bd, b - -')
    addUpload(launcher, 'a', 'rack', validated=True)
    write('a - bd')
    retire()
    waitFor(lambda: not launcher.getUploads())
    retire()
    waitFor(lambda: getAsked(launcher, 'image-delete') == ['a'])


# The right branch

@pytest.mark.parametrize('known', [True, False])
def test_event_is_for_the_branch_that_the_tenant_has(launcher, write, known):
    write('a - b, b rack vd')
    image = {'name': 'debian', 'project': 'example.com/nodes',
             'branch': 'stable', 'runs': {
                 'image-build': [], 'image-validate': ['image-validate'],
                 'image-delete': ['image-delete']}}
    launcher.pipelines.publish(tenant='b', pipelines=PIPELINES,
                               images={DEBIAN: image} if known else {})
    upload = addUpload(launcher, 'b', 'rack')
    artifact = launcher.builds.getItem(upload.artifact_uuid)
    assert launcher.jobs.tenants.getBranch('b', artifact) == (
        'stable' if known else 'main')
    launcher.images.validation.reconcile(launcher.getUploads())
    assert [event.branch for event in launcher.pipelines.all_events['b']] == (
        ['stable'] if known else [])


# Providers that a launcher cannot read

@pytest.mark.settings(image_settle_time=0)
def test_launcher_that_cannot_read_a_provider_keeps_the_back_off_of_others(
        launcher, wantVhd):
    wantVhd('a rack b, b other -')
    launcher.addUpload(addArtifact(launcher), 'rack', 'a',
                       **READY | {'validated': True})
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == ['a']
    passOn(launcher, 'a')
    known = launcher.scope
    launcher.scope = Scope(
        {'a': launcher.tenant_providers['a'], 'b': []}, {'b': {'x': None}})
    launcher.images.builds.reconcile()
    launcher.scope = known
    launcher.images.builds.reconcile()
    assert getAsked(launcher, 'image-build') == []
    assert launcher.jobs.events.get(EventKind.BUILD, DEBIAN).attempt == 1
