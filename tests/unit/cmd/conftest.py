"""What the tests of several commands need."""

import pytest

from tests.emulators.openstack import OpenStack
from tests.fixtures.programs import writeConf
from tests.unit.drivers.openstack.nodesites import furnish


@pytest.fixture
def runCommand(zuulNodes, zuul_conf, tmp_path):
    """:return: a function that runs a subcommand that reads ZooKeeper, without
        errors, and returns what it prints."""
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')

    def run(name, *arguments):
        result = zuulNodes(name, '-c', path, *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout
    return run


@pytest.fixture
def openstack():
    cloud = OpenStack()
    furnish(cloud)
    yield cloud
    cloud.end()
