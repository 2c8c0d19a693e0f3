"""What builds of images say gets into Zuul's records."""

import pytest
from zuul import model
from zuul.model import ImageBuildArtifact, ImageUpload
from zuul.zk.exceptions import LockException

from tests.fixtures.waiting import waitFor
from tests.unit.drivers.zuul.site import (
    DEBIAN,
    FEDORA,
    IMAGES,
    IMAGES_FILE,
    JOBS,
    JOBS_FILE,
    PIPELINES,
    PIPELINES_FILE,
    PROVIDERS,
    PROVIDERS_FILE,
    RACK,
    URL,
    Site,
    getBuild,
    makeArtifact,
)
from zuul_nodes import undelivered
from zuul_nodes.drivers.zuul import records

OTHER_TENANT = '''
- section:
    name: rack
    connection: %s
    images: [debian]
    flavors: [small]
- provider:
    name: second
    section: rack
    labels: [debian]
'''
ARCH = '''
- section: {name: arch, connection: other, images: [arch], flavors: [small]}
- provider: {name: arch, section: arch}
'''


class Killed(BaseException):
    """The scheduler is no more."""


def test_successful_build_makes_artifact_and_uploads(site):
    item = site.makeItem(makeArtifact(sha256='0' * 64, md5sum='1' * 32))
    site.report(item)
    artifact, = site.artifacts
    build = getBuild(item)
    assert artifact.toDict() | {'uuid': None, 'state_time': None} == {
        'uuid': None, 'name': 'debian', 'canonical_name': DEBIAN,
        'project_canonical_name': 'example.com/nodes',
        'project_branch': 'main', 'build_tenant_name': 'tenant',
        'build_uuid': build.uuid, 'format': 'raw', 'md5sum': '1' * 32,
        'sha256': '0' * 64, 'url': makeArtifact()['url'], 'timestamp': 100,
        'validated': None, '_state': 'ready', 'state_time': None}
    upload, = site.uploads
    provider = site.loaded.layout.providers['rack']
    assert upload.toDict() | dict.fromkeys(
        ('uuid', 'state_time', 'timestamp')) == {
        'uuid': None, 'canonical_name': DEBIAN,
        'artifact_uuid': artifact.uuid, 'build_uuid': None,
        'endpoint_name': provider.getEndpoint().canonical_name,
        'providers': [RACK], 'external_id': None, 'attempt': 0,
        'config_hash': provider.images['debian'].zuul_config_hash,
        'timestamp': None, 'validated': None, '_state': 'pending',
        'state_time': None}
    assert upload.timestamp and upload.state_time
    assert item.current_build_set.warning_messages == []


def test_several_images(site):
    site.needFormats('qcow2')
    site.needFormats('raw', name=FEDORA)
    item = site.makeItem(makeArtifact(), makeArtifact(format='qcow2'),
                         makeArtifact(image_name='fedora'))
    site.setArtifacts(getBuild(item, 'build-fedora'), makeArtifact())
    site.report(item)
    artifacts = site.artifacts
    assert sorted((artifact.canonical_name, artifact.format, artifact.state)
                  for artifact in artifacts) == [
        (DEBIAN, 'qcow2', 'ready'), (DEBIAN, 'raw', 'ready'),
        (FEDORA, 'raw', 'ready')]
    # The others are for providers that do not exist yet.
    upload, = site.uploads
    assert upload.artifact_uuid in [
        artifact.uuid for artifact in artifacts
        if (artifact.name, artifact.format) == ('debian', 'raw')]


def test_job_of_the_image_itself_counts_before_others_that_build_it(site):
    site.needFormats('raw', name=FEDORA)
    # By the names of the jobs, build-debian would be the first.
    item = site.makeItem(makeArtifact(image_name='fedora'))
    site.setArtifacts(getBuild(item, 'build-fedora'),
                      makeArtifact(url=f'{URL}-fedora'))
    site.report(item)
    artifact, = site.artifacts
    assert artifact.url == f'{URL}-fedora'
    message, missing = item.current_build_set.warning_messages
    assert 'The image "debian" is needed in the format raw' in missing
    assert message.startswith(
        'The image "fedora" of the job build-debian in the format raw is '
        'ignored: the job build-fedora of this buildset ')
    site.report(item)
    assert len(site.artifacts) == 1


def test_first_by_name_of_several_jobs_of_an_image_counts(makeSite):
    site = makeSite({JOBS_FILE: JOBS + '''
- job: {name: a-debian, parent: base, image-build-name: debian}
- project:
    build:
      jobs: [a-debian]
'''})
    site.needFormats('qcow2')
    item = site.makeItem(makeArtifact(), makeArtifact(format='qcow2'))
    site.setArtifacts(getBuild(item, 'a-debian'),
                      makeArtifact(url=f'{URL}-a'))
    site.report(item)
    # Another format is another image.
    assert sorted((artifact.format, artifact.url)
                  for artifact in site.artifacts) == [
        ('qcow2', URL), ('raw', f'{URL}-a')]
    assert len(site.uploads) == len(
        item.current_build_set.warning_messages) == 1


@pytest.mark.parametrize('value, validated', [
    ('true', True), ('false', None)])
def test_pipeline_decides_whether_images_are_validated(
        makeSite, value, validated):
    site = makeSite({PIPELINES_FILE: PIPELINES.replace(
        'image-built: true', f'image-built: true\n        '
        f'image-validated: {value}', 1)})
    site.report(site.makeItem(makeArtifact()))
    assert [record.validated for record in site.artifacts + site.uploads
            ] == [validated, validated]


@pytest.mark.parametrize('result', ['FAILURE', 'SKIPPED', None])
def test_build_without_success(site, result):
    site.needFormats('raw', name=FEDORA)
    item = site.makeItem(makeArtifact())
    site.setArtifacts(getBuild(item, 'build-fedora'), makeArtifact())
    getBuild(item)._set(result=result)
    site.report(item)
    artifact, = site.artifacts
    assert artifact.name == 'fedora'


def test_job_that_builds_no_image(site):
    item = site.makeItem()
    site.setArtifacts(getBuild(item, 'other'), makeArtifact())
    site.report(item)
    assert site.artifacts == []


def test_first_phase_of_a_report_writes_nothing(site):
    item = site.makeItem(makeArtifact())
    reporter, = item.manager.pipeline.success_actions
    reporter.report(item, phase2=False)
    assert site.artifacts == []


def test_bad_artifact(site):
    item = site.makeItem(makeArtifact('bad', format=None), makeArtifact())
    site.report(item)
    assert len(site.artifacts) == len(site.uploads) == 1
    message, = item.current_build_set.warning_messages
    assert message.startswith('The artifact "bad" of the job build-debian ')
    # The message that the web UI shows for the buildset has it.
    pipeline = item.manager.pipeline
    pipeline.success_message = 'Done.'
    reporter, = pipeline.success_actions
    assert message in reporter._formatItemReport(
        item, with_jobs=False, action='success')
    site.report(item)
    assert item.current_build_set.warning_messages == [message]


def test_image_of_a_change(site):
    layout, _ = site.loaded.propose({
        IMAGES_FILE: IMAGES + '- image: {name: arch, type: zuul}\n',
        PROVIDERS_FILE: PROVIDERS + ARCH})
    item = site.makeItem(makeArtifact(image_name='arch'), layout=layout)
    site.report(item)
    artifact, = site.artifacts
    assert (artifact.name, artifact.state) == ('arch', 'ready')
    assert site.uploads == []


def test_providers_of_other_tenants(site, loadTenant):
    for number, connection in enumerate(('rack', 'other')):
        other = loadTenant({
            PROVIDERS_FILE: OTHER_TENANT % connection})
        for provider in other.layout.providers.values():
            provider._set(zk_client=site.scheduler.zk_client)
        site.loaded.abide.tenants[f'other{number}'] = other.tenant
    site.report(site.makeItem(makeArtifact()))
    second = 'example.com%2Fnodes/second'
    # One upload for each place, as long as the configuration is the same.
    assert sorted(upload.providers for upload in site.uploads) == [
        [RACK, second], [second]]
    assert len({upload.endpoint_name for upload in site.uploads}) == 2


def test_provider_without_endpoint_gets_no_upload(site, loadTenant, caplog):
    # Without ZooKeeper, it has no endpoint.
    site.loaded.abide.tenants['aside'] = loadTenant({
        PROVIDERS_FILE: OTHER_TENANT % 'other'}).tenant
    site.report(site.makeItem(makeArtifact()))
    assert 'Unable to find the endpoint of' in caplog.text
    assert [upload.providers for upload in site.uploads] == [[RACK]]
    assert site.artifacts[0].state == 'ready'


# A scheduler that dies

def getData(site):
    return [record.toDict() for record in site.artifacts + site.uploads]


def test_second_report_changes_nothing(site):
    item = site.makeItem(makeArtifact())
    site.report(item)
    before = getData(site)
    site.report(item)
    assert getData(site) == before


def test_uploads_of_an_artifact_in_use_are_left_alone(site):
    item = site.makeItem(makeArtifact())
    site.report(item)
    with site.context() as context:
        for upload in site.uploads:
            upload.delete(context)
        site.artifacts[0].updateAttributes(context, _state='deleting')
    site.report(item)
    assert site.uploads == []
    assert site.artifacts[0].state == 'deleting'


@pytest.mark.parametrize('calls', range(12))
def test_next_report_completes_that_of_a_killed_scheduler(
        site, monkeypatch, calls):
    site.needFormats('qcow2')
    item = site.makeItem(makeArtifact(), makeArtifact(format='qcow2'))
    save = model.zkobject.ZKObject._save
    left = calls

    def saveOrDie(self, context, data, create=False):
        nonlocal left
        if isinstance(self, ImageBuildArtifact | ImageUpload):
            left -= 1
            # Either before or after the write.
            if left == -1:
                raise Killed
            save(self, context, data, create)
            left -= 1
            if left == -1:
                raise Killed
            return
        save(self, context, data, create)
    monkeypatch.setattr(model.zkobject.ZKObject, '_save', saveOrDie)
    # 2 artifacts, 1 upload, 2 changes of state.
    if calls < 10:
        with pytest.raises(Killed):
            site.report(item)
    assert all(upload.state == 'pending' for upload in site.uploads)
    left = 1000
    site.report(item)
    assert sorted((artifact.format, artifact.state)
                  for artifact in site.artifacts) == [
        ('qcow2', 'ready'), ('raw', 'ready')]
    assert [upload.providers for upload in site.uploads] == [[RACK]]


def test_artifact_that_somebody_else_has_locked(site, monkeypatch):
    monkeypatch.setattr(records, 'LOCK_TIMEOUT', 0.1)
    item = site.makeItem(makeArtifact())
    with monkeypatch.context() as patch:
        patch.setattr(records, 'createUploads', lambda *_: None)
        site.report(item)
    artifact, = site.artifacts
    with (site.context() as context, artifact.locked(context),
          pytest.raises(LockException)):
        site.report(item)
    assert site.uploads == []
    site.report(item)
    assert len(site.uploads) == 1


def test_a_format_that_no_artifact_has_is_a_warning(site):
    site.needFormats('vhd')
    item = site.makeItem(makeArtifact())
    site.report(item)
    warning, = item.current_build_set.warning_messages
    assert ('The image "debian" is needed in the format vhd, but no '
            'artifact of these builds has it') in warning
    item = site.makeItem(makeArtifact(), makeArtifact(format='vhd'))
    site.report(item)
    assert item.current_build_set.warning_messages == []


def test_a_format_that_successful_builds_have_not_is_on_record(site):
    """Launchers ask for no other build in vain."""
    client = site.scheduler.zk_client.client
    site.loaded.layout.providers['rack'].images['debian'].format = 'vhd'
    item = site.makeItem(makeArtifact())
    # One that failed may have it the next time.
    getBuild(item, 'build-fedora')._set(result='FAILURE')
    site.report(item)
    assert undelivered.read(client, DEBIAN) == {}
    site.report(site.makeItem(makeArtifact()))
    assert undelivered.read(client, DEBIAN) == {
        'tenant': undelivered.Undelivered(site.loaded.layout.uuid, {'vhd'})}
    site.report(site.makeItem(makeArtifact(format='vhd')))
    assert undelivered.read(client, DEBIAN) == {}


# Formats that no provider needs

@pytest.mark.parametrize('number', [1, 10, 300])
def test_formats_that_no_provider_needs_are_not_recorded(
        site, audited, number):
    item = site.makeItem(makeArtifact(), *(
        makeArtifact(format=f'f{each}', url=f'{URL}{each}')
        for each in range(number)))
    site.report(item)
    assert [artifact.format for artifact in site.artifacts] == ['raw']
    warning, = item.current_build_set.warning_messages
    assert warning.startswith(
        'Images of the job build-debian are ignored, because no provider of '
        'any tenant needs them: "debian" in the format f0')
    assert ('and 290 others' in warning) is (number == 300)
    assert len(warning) < 700
    line, = audited.read(event='refused')
    assert line['build'] == getBuild(item).uuid


def test_warning_about_formats_names_each_job(site):
    item = site.makeItem(makeArtifact(format='vhd'))
    site.setArtifacts(getBuild(item, 'build-fedora'), makeArtifact())
    site.report(item)
    assert site.artifacts == []
    missing, *unneeded = sorted(
        item.current_build_set.warning_messages, key=lambda text: 'job' in text
        and 'Images' in text)
    assert 'The image "debian" is needed in the format raw' in missing
    assert [text.split(': ')[1].partition('.')[0] for text in unneeded] == [
        '"debian" in the format vhd', '"fedora" in the format raw']


def test_job_that_returns_only_unneeded_formats_is_on_record(site):
    """Otherwise, launchers would request such builds without end."""
    site.report(site.makeItem(makeArtifact(format='qcow2')))
    assert undelivered.read(site.scheduler.zk_client.client, DEBIAN)[
        'tenant'].formats == {'raw'}


@pytest.mark.parametrize('image, formats', [
    # Another tenant needs vhd; no tenant needs fedora.
    ('debian', ['raw', 'vhd']), ('fedora', [])])
def test_formats_that_another_tenant_needs(site, loadTenant, image, formats):
    other = loadTenant()
    other.layout.providers['rack'].images['debian'].format = 'vhd'
    site.scheduler.publish(other, 'other')
    waitFor(lambda: site.loaded.driver.findFormats(
        site.makeItem(), 'debian') == ['raw', 'vhd'])
    site.report(site.makeItem(*(
        makeArtifact(image_name=image, format=each)
        for each in ('qcow2', 'raw', 'vhd'))))
    assert sorted(artifact.format for artifact in site.artifacts) == formats


@pytest.mark.parametrize('image', ['debian', 'fedora'])
def test_no_format_is_refused_while_a_tenant_is_unknown(site, image):
    """Not even one beside formats that are known."""
    site.scheduler.local_layout_state['new'] = None
    site.report(site.makeItem(makeArtifact(image_name=image, format='vhd')))
    artifact, = site.artifacts
    assert (artifact.name, artifact.format) == (image, 'vhd')


@pytest.mark.parametrize('image', ['debian', 'fedora'])
def test_no_format_is_refused_while_a_provider_is_in_error(
        loadTenant, makeScheduler, enqueue, image):
    loaded = loadTenant({PROVIDERS_FILE: PROVIDERS + '''
- provider: {name: broken, section: missing}
'''}, complete=False)
    site = Site(loaded, makeScheduler(loaded), enqueue)
    site.report(site.makeItem(makeArtifact(image_name=image, format='vhd')))
    assert [artifact.name for artifact in site.artifacts] == [image]
