"""Zuul loads all that the converter writes: jobs, pipelines and secrets, too.

Each real file of Nodepool becomes a tenant, which Zuul's own parsers load.
"""


import pytest
import zuul.configloader
from zuul.lib.connections import ConnectionRegistry

from tests.fixtures.corpus import CORPUS, FILES, getReason
from tests.fixtures.migration import EXAMPLES, IMAGES, ROOT, convert
from tests.unit.configloader.tenant import (
    CONFIG,
    TenantWithPipelines,
    enter,
)
from zuul_nodes.cmd.migrate import tenant as tenant_stanza

BASE = '''
- job: {name: base, parent: null}
'''
# What has to be built, and a secret of a job.
WITH_IMAGES = IMAGES + '''
    pools:
      - name: main
        labels:
          - {name: debian, diskimage: debian, flavor-name: f}
labels: [{name: debian, min-ready: 1}]
'''


@pytest.fixture
def load(monkeypatch, zk_client):
    """:return: a function that loads a converted configuration as a scheduler
        does, and gives the tenant."""
    enter(monkeypatch)
    return lambda converted: loadTenant(converted, zk_client)


def loadTenant(converted, zk_client):
    files = {}
    for path in converted.path.rglob('*.yaml'):
        project, _, name = path.relative_to(
            converted.path).as_posix().partition('/')
        if name:
            files[project, 'main', name] = path.read_text()
    # The jobs of ours that the converted ones inherit from.
    files[CONFIG, 'main', 'zuul.d/jobs.yaml'] = BASE + (
        ROOT / 'zuul.d' / 'jobs.yaml').read_text()
    stanza, = converted.get('tenant').values()
    return TenantWithPipelines(
        files, stanza['use-nodepool'], zk_client, converted.getConfig(),
        max_job_timeout=stanza.get('max-job-timeout', 10800))


def checkTenant(converted):
    """Check the part of the tenant configuration with Zuul's schema."""
    config = converted.getConfig()
    config.read_dict({'connection git': {
        'driver': 'git', 'baseurl': 'https://example.com'}})
    connections = ConnectionRegistry()
    connections.configure(config, sources=True)
    parser = zuul.configloader.TenantParser(
        connections, None, None, None, None, None, None, None)
    stanza, = converted.get('tenant').values()
    stanza['source']['git'] = stanza['source'].pop(tenant_stanza.CONNECTION)
    parser.getSchema()(stanza)


@pytest.mark.parametrize('name', [
    name for name, row in FILES.items()
    if not getReason(row, CORPUS / name)])
def test_zuul_loads_what_a_real_file_becomes(name, load, tmp_path):
    converted = convert(tmp_path, CORPUS / name)
    tenant = load(converted)
    assert tenant.errors == []
    assert tenant.layout.providers.keys() == converted.get('provider').keys()
    checkTenant(converted)


def test_zuul_loads_jobs_pipelines_and_secrets(load, tmp_path):
    converted = convert(tmp_path, WITH_IMAGES)
    tenant = load(converted)
    assert tenant.errors == []
    checkTenant(converted)
    job = tenant.layout.getJob('build-image-debian')
    assert job.image_build_name == 'debian'
    assert list(tenant.layout.pipeline_managers) == [
        'image-build', 'image-validate', 'image-delete',
        'image-rebuild-weekly']
    secrets = tenant.layout.secrets
    assert secrets['environment_of_debian'].secret_data[
        'REGISTRY_PASSWORD'] == 'REPLACE_ME_REGISTRY_PASSWORD'


def test_zuul_loads_the_example(load, tmp_path):
    assert load(convert(tmp_path, EXAMPLES / 'nodepool.yaml')).errors == []
