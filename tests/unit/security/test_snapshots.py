"""A job may return any URL and call it a snapshot."""

import time

import pytest
from zuul.model import NodesetInfo

from tests.unit.drivers.zuul.site import getJob, makeArtifact
from zuul_nodes import snapshotrecords

URL = 'gce-image:projects/others/global/images/secret'
NODE = '0123456789abcdef0123456789abcdef'
FUTURE = 1 << 40


def add(client, url=URL, node=NODE, tenant='tenant', expiration=FUTURE):
    snapshotrecords.add(
        client, snapshotrecords.Snapshot(url, node, tenant), expiration)


def report(site, url=URL, nodes=(NODE,)):
    """:return: the warnings of a build with a snapshot."""
    item = site.makeItem(makeArtifact('image', url, format='snapshot'))
    if nodes is not None:
        item.current_build_set.nodeset_info[
            getJob(item).uuid] = NodesetInfo(list(nodes))
    site.report(item)
    return item.current_build_set.warning_messages


@pytest.fixture
def site(makeImageSite):
    site = makeImageSite()
    images = site.loaded.layout.providers['rack'].images
    images['debian'].format = 'snapshot'
    return site


@pytest.fixture
def client(site):
    return site.scheduler.zk_client.client


def test_a_job_returns_the_snapshot_of_its_node(site, client):
    add(client)
    assert report(site) == []
    artifact, = site.artifacts
    assert (artifact.url, artifact.format) == (URL, 'snapshot')


@pytest.mark.parametrize(('recorded', 'nodes'), [
    (None, [NODE]),
    ({'url': 'gce-image:projects/ours/global/images/mine'}, [NODE]),
    ({'node': 'f' * 32}, [NODE]),
    ({'tenant': 'other'}, [NODE]),
    ({}, []),
    ({}, None),
], ids=['nobody has made it', 'another one', 'of the node of another build',
        'of another tenant', 'no node', 'nothing known of nodes'])
def test_a_job_can_not_return_another_snapshot(
        site, client, recorded, nodes):
    if recorded is not None:
        add(client, **recorded)
    message, missing = report(site, nodes=nodes)
    assert 'is needed in the format snapshot' in missing
    assert message.startswith('The artifact "image" of the job build-debian ')
    assert 'snapshot of a node of this build' in message
    assert '"snapshot_nodes" in zuul_return' in message
    assert 'secret' not in message
    assert site.artifacts == []


def test_records_of_snapshots_go_when_they_have_expired(client):
    add(client, expiration=int(time.time()) - 1)
    assert snapshotrecords.find(client, URL, 'tenant') == {NODE}
    # Twice, for a launcher may die after it has written it.
    for _ in range(2):
        add(client, 'another')
    assert snapshotrecords.find(client, URL, 'tenant') == set()
    assert snapshotrecords.find(client, 'another', 'tenant') == {NODE}


# A launcher whose scheduler has recorded it nevertheless

def upload(launcher, server, **kwargs):
    launcher.queue.start()
    artifact = launcher.addArtifact(
        state=None, url=f'{server.url}/image', format='snapshot', **kwargs)
    launcher.addUpload(artifact)
    launcher.setState(artifact, 'ready')
    return artifact


def test_a_launcher_uploads_a_snapshot(image_launcher, server):
    add(image_launcher.zk_client.client, f'{server.url}/image')
    upload(image_launcher, server)
    image_launcher.waitForUploads('ready')


def test_a_launcher_has_the_driver_download_a_snapshot(
        image_launcher, server):
    def download(url, path):
        with open(path, 'wb') as file:
            file.write(b'snapshot')
        return path
    image_launcher.getProvider()._set(downloadSnapshot=download)
    server.files.clear()
    add(image_launcher.zk_client.client, f'{server.url}/image')
    upload(image_launcher, server)
    image_launcher.waitForUploads('ready')
    assert list(image_launcher.clouds['rack'].images.values()) == [
        b'snapshot']


@pytest.mark.settings(upload_attempts=1)
@pytest.mark.parametrize('tenant', [None, 'other'])
def test_a_launcher_takes_no_other_snapshot(
        image_launcher, server, monkeypatch, caplog, tenant):
    if tenant:
        add(image_launcher.zk_client.client, f'{server.url}/image',
            tenant=tenant)
    upload(image_launcher, server)
    image_launcher.waitForUploads('failed')
    assert ('/image is no snapshot that a launcher has made of a node of the '
            'tenant tenant') in caplog.text
    assert server.requests == []
    assert image_launcher.clouds['rack'].calls == []
