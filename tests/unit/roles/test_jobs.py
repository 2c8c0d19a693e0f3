"""The jobs are what Zuul loads, and what the guide shows inherits."""

import pathlib

import pytest
import yaml

from tests.unit.configloader.tenant import (
    CONFIG,
    NODES,
    TenantWithPipelines,
    enter,
)

ROOT = pathlib.Path(__file__).parents[3]
JOBS = (ROOT / 'zuul.d/jobs.yaml').read_text()
EXAMPLES = ROOT / 'doc/source/examples'
# What a tenant has besides.
BASE = (EXAMPLES / 'image-pipelines.yaml').read_text() + '''
- pipeline:
    name: check
    manager: independent

- job:
    name: base
    parent: null

- label:
    name: builder
'''
# What the example leaves out: it is encrypted for one project.
REST = '''
- label:
    name: debian

- section:
    name: shelf
    connection: null
    nodes:
      - name: shelf.example.com
        labels: [builder, debian]

- provider:
    name: shelf
    section: shelf
    labels:
      - name: builder
      - name: debian

- secret:
    name: image_storage
    data:
      access_key: zuul
'''


@pytest.fixture
def tenant(monkeypatch):
    enter(monkeypatch)
    return TenantWithPipelines({
        (CONFIG, 'main', 'zuul.d/base.yaml'): BASE,
        (NODES, 'main', 'zuul.d/jobs.yaml'): JOBS,
        (NODES, 'main', 'zuul.d/images.yaml'):
        (EXAMPLES / 'images.yaml').read_text(),
        (NODES, 'main', 'zuul.d/rest.yaml'): REST})


def test_example(tenant):
    layout = tenant.layout
    assert tenant.errors == []
    for name, parents in {
            'build': ['zuul-nodes-build-image'],
            'publish': ['build-image-debian', 'zuul-nodes-build-image'],
            'validate': ['zuul-nodes-validate-image'],
            'delete': ['zuul-nodes-delete-image']}.items():
        job = layout.getJob(f'{name}-image-debian')
        assert not job.abstract
        for parent in parents:
            assert job.parent == parent
            job = layout.getJob(parent)
        assert job.abstract
        # The playbooks of our project, with its roles.
        playbook, = job.run
        for each in (playbook, *job.post_run):
            assert (ROOT / each.path).exists()
            assert each.roles
        # Also after a failure, and after the job was aborted.
        assert [each.cleanup for each in job.post_run] == (
            [] if name == 'validate' else [True])


def test_playbooks_and_roles_are_there(tenant):
    jobs = [stanza['job'] for stanza in yaml.safe_load(JOBS)]
    for job in jobs:
        playbook = ROOT / job['run']
        for play in yaml.safe_load(playbook.read_text()):
            for role in play.get('roles', ()):
                assert (ROOT / 'roles' / role / 'tasks/main.yaml').exists()
    storages = {path.name.removeprefix('zuul-nodes-upload-image-')
                for path in ROOT.glob('roles/zuul-nodes-upload-image-*')}
    play, = yaml.safe_load((ROOT / 'playbooks/build-image/run.yaml'
                            ).read_text())
    known, = (task['vars']['known'] for task in play['pre_tasks']
              if 'vars' in task)
    assert set(known) == storages | {'none'}


def test_variables_are_documented():
    """Each default is in the README of its role."""
    roles = sorted((ROOT / 'roles').iterdir())
    assert roles
    for role in roles:
        readme = (role / 'README.rst').read_text()
        defaults = role / 'defaults/main.yaml'
        if defaults.exists():
            for name in yaml.safe_load(defaults.read_text()):
                assert f'\n.. zuul:rolevar:: {name}\n' in readme, role
