"""A change under review in a real Zuul, until it has merged."""

import pathlib
import subprocess

import pytest
import requests

from tests.fixtures.packages import writePackage
from zuul_nodes.quickstart.config import TENANT
from zuul_nodes.quickstart.repositories import (
    CONFIG_REPOSITORY,
    DEMO_REPOSITORY,
)

pytestmark = pytest.mark.services

TIMEOUT = 240
DRIVER = pathlib.Path(__file__).parent / 'review' / 'review_driver.py'
TENANTS = f'''
- tenant:
    name: {TENANT}
    use-nodepool: false
    source:
      git:
        config-projects:
          - {CONFIG_REPOSITORY}
        untrusted-projects:
          - {DEMO_REPOSITORY}:
              include-provider-config: true
'''
CHECK = '''
- pipeline:
    name: check
    manager: independent
    trigger: {}
'''
IN_CHECK = '''
- project:
    check:
      jobs: [hello]
'''
# A node that nobody can connect to.
SPARE = '''
- label:
    name: spare

- section:
    name: spare
    connection: null
    nodes:
      - name: 127.0.0.1
        connection-port: 1
        label: spare

- provider:
    name: spare
    section: spare
    labels: [spare]
'''
JOBS = '''
- job:
    name: on-spare
    run: playbooks/hello.yaml
    nodeset:
      nodes: [{name: node, label: %s}]

- project:
    check:
      jobs: [on-spare]
'''


class Review:
    """What a developer does, and what is said about it."""

    def __init__(self, site):
        self.site = site
        self.checkout = site.demo_checkout

    def git(self, *arguments):
        subprocess.run(
            ['git', '-c', 'user.name=Dev', '-c', 'user.email=dev@localhost',
             *arguments], cwd=self.checkout, check=True, timeout=TIMEOUT,
            capture_output=True)

    def propose(self, number, text):
        """Propose a change that adds to the configuration of the demo."""
        self.git('checkout', '-q', '-B', f'change{number}', 'origin/master')
        with open(self.checkout / 'zuul.yaml', 'a') as config:
            config.write(text)
        self.git('commit', '-qam', f'Change {number}')
        self.git('push', '-q', 'origin', f'HEAD:refs/changes/{number}')

    def merge(self, number):
        self.git('push', '-q', 'origin', f'change{number}:master')

    def check(self, number):
        """:return: what becomes of it in the pipeline "check"."""
        site = self.site
        token = subprocess.run(
            [site.program('zuul-admin'), '-c', site.zuul_conf,
             'create-auth-token', '--auth-config', 'zuul_operator',
             '--user', 'admin', '--tenant', TENANT, '--expires-in', '600'],
            check=True, timeout=TIMEOUT, capture_output=True, text=True)
        requests.post(
            f'{site.settings.web_url}/api/tenant/{TENANT}/project/'
            f'{DEMO_REPOSITORY}/enqueue', timeout=TIMEOUT,
            headers={'Authorization': token.stdout.strip()},
            json={'pipeline': 'check', 'change': f'{number},1'},
        ).raise_for_status()

        def ended():
            buildsets = site.api.get(
                f'tenant/{TENANT}/buildsets', pipeline='check')
            return next((buildset for buildset in buildsets
                         if buildset['refs'][0]['change'] == number
                         and buildset['result']), None)
        uuid = site.services.waitFor(
            ended, f'change {number} is not dealt with', TIMEOUT,
            'scheduler')['uuid']
        return site.api.get(f'tenant/{TENANT}/buildset/{uuid}')

    def labels(self):
        return {label['name'] for label in
                self.site.api.get(f'tenant/{TENANT}/labels')}


@pytest.fixture
def review(makeSite, tmp_path):
    site = makeSite()
    packages = tmp_path / 'packages'
    writePackage(packages, 'review', entry_points={
        'zuul.drivers': {'review': 'review_driver:ReviewDriver'}},
        modules={'review_driver': DRIVER.read_text()})
    site.services.environment['PYTHONPATH'] = str(packages)
    site.configure('connection git', driver='review')
    (site.settings.run / 'tenants.yaml').write_text(TENANTS)
    pipelines = site.nodes_file.parent / 'pipelines.yaml'
    pipelines.write_text(pipelines.read_text() + CHECK)
    site.repositories.push('Add check', CONFIG_REPOSITORY)
    with open(site.demo_checkout / 'zuul.yaml', 'a') as config:
        config.write(IN_CHECK)
    site.push()
    site.startZooKeeper()
    site.startNode()
    site.startZuul()
    site.waitForZuul()
    site.waitForNode()
    return Review(site)


def test_a_change_alters_nothing_until_it_has_merged(review):
    # A label that is nowhere.
    review.propose(1, JOBS % 'spaer')
    buildset = review.check(1)
    assert buildset['result'] == 'CONFIG_ERROR'
    assert 'The label "spaer" was not found. There are:' in (
        ' '.join(buildset['message'].split()))

    # A label that the change itself adds.
    review.propose(2, SPARE + JOBS % 'spare')
    buildset = review.check(2)
    assert {build['job_name']: build['result']
            for build in buildset['builds']} == {
                'hello': 'SUCCESS', 'on-spare': 'NODE_FAILURE'}
    # In words for users, also as Zuul reports it on the change.
    assert [build['error_detail'].partition(' failed: ')[2]
            for build in buildset['builds']
            if build['job_name'] == 'on-spare'] == [
        'No provider can serve it. Label spare: no provider of tenant '
        f'{TENANT} has it']
    message = ' '.join(buildset['message'].split())
    for expected in (
            'The job "on-spare" (project', 'needs the label "spare" (project',
            'which must merge first',
            'The section "spare" (project',
            'does not exist until this change has merged.'):
        assert expected in message
    assert review.labels() == {'debian-local'}
    assert len(review.site.api.nodes()) == 1

    review.merge(2)
    review.site.services.waitFor(
        lambda: review.labels() == {'debian-local', 'spare'},
        'the label is not there', 120, 'scheduler')
    assert review.site.api.configErrors() == []
