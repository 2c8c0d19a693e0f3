"""A driver that another package ships works exactly like ours."""

import shutil
import subprocess
import sys

import pytest

from tests.fixtures.packages import SHELF
from zuul_nodes.quickstart.sshd import USER

pytestmark = pytest.mark.services

NODES = '''
- image:
    name: debian
    type: cloud

- flavor:
    name: local

- label:
    name: debian-local
    image: debian
    flavor: local

- section:
    name: shelf
    connection: rack
    images:
      - name: debian
        python-path: /usr/bin/python3
    flavors:
      - local

- provider:
    name: shelf
    section: shelf
    labels:
      - name: debian-local
        host-key-checking: true
'''


@pytest.fixture
def shelf_maker(tmp_path):
    """The package, built and installed: a directory for PYTHONPATH."""
    target = tmp_path / 'installed'
    subprocess.run(
        [sys.executable, '-m', 'pip', 'install', '-q', '--no-deps',
         '--target', target, shutil.copytree(SHELF, tmp_path / 'source')],
        check=True, timeout=300)
    return target


def test_job_on_a_node_of_a_third_partys_driver(makeSite, shelf_maker):
    site = makeSite()
    # Stock commands find it; zuul.conf names it; that is all.
    site.services.environment['PYTHONPATH'] = str(shelf_maker)
    site.configure('connection rack', driver='shelf', host='127.0.0.1',
                   port=site.node.port, username=USER)
    site.pushNodes(NODES)
    site.startZooKeeper()
    site.startNode()
    site.startZuul()
    site.waitForZuul()
    assert site.waitForBuild(site.push())['result'] == 'SUCCESS'
    assert site.services.processes['scheduler'].logged(
        'Marking node <ShelfProviderNode .* as ready')
    site.services.waitFor(lambda: site.nodeStates() == [],
                 'the node is not deleted', 60, 'scheduler')
