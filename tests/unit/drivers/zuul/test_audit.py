"""What the scheduler tells the audit log of images."""

import pytest

from tests.unit.drivers.zuul.site import DEBIAN, getBuild, makeArtifact


def getWho(item):
    return {'tenant': 'tenant', 'job': 'build-debian',
            'buildset': item.current_build_set.uuid,
            'build': getBuild(item).uuid}


def test_image_that_was_built(site, audited):
    item = site.makeItem(makeArtifact(url='https://example.com/x?secret'))
    site.report(item)
    line, = audited.read()
    artifact, = site.artifacts
    assert line | {'time': None} == getWho(item) | {
        'time': None, 'event': 'created', 'result': 'done',
        'project': 'example.com/nodes', 'image': DEBIAN,
        'artifact': artifact.uuid}


def test_artifact_that_is_refused(site, audited):
    item = site.makeItem(makeArtifact('bad', image_name='arch\n'))
    site.report(item)
    line, = audited.read()
    assert line.items() >= (getWho(item) | {'event': 'refused'}).items()
    assert 'The artifact "bad"' in line['reason']


@pytest.mark.parametrize('action, result', [
    ('success', 'done'), ('failure', 'failed')])
def test_validation(site, audited, action, result):
    site.addUpload(external_id='image-1')
    item = site.makeValidation()
    if action == 'failure':
        getBuild(item)._set(result='FAILURE')
    site.report(item, action)
    line, = audited.read()
    assert line.items() >= (getWho(item) | {
        'event': 'validated', 'result': result, 'upload': 'upload',
        'external_id': 'image-1'}).items()
