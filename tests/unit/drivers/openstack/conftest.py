from openstack.config import loader
import pytest

from tests.emulators.openstack import OpenStack
from tests.fixtures.ending import endWith
from tests.unit.drivers.openstack.nodesites import NodeSite, furnish
from tests.unit.drivers.openstack.sites import Site
from zuul_nodes.drivers.openstack.endpoint import OpenstackEndpoint
from zuul_nodes.drivers.openstack.servers.adapter import OpenstackAdapter


@pytest.fixture
def cloud(request, monkeypatch):
    monkeypatch.setattr(OpenstackEndpoint, 'import_interval', 0.001)
    return endWith(request, OpenStack())


@pytest.fixture
def clouds_yaml(cloud, tmp_path, monkeypatch):
    """:return: the path of a clouds.yaml with the emulator, which is found
        by default."""
    path = cloud.writeConfig(tmp_path / 'clouds.yaml')
    monkeypatch.setattr(loader, 'CONFIG_FILES', [str(path)])
    return path


@pytest.fixture
def makeSite(request, zk_client, clouds_yaml):
    """:return: a function that makes a :class:`Site`."""
    return lambda **image: endWith(request, Site(zk_client, **image))


@pytest.fixture
def makeNodes(request, zk_client, cloud, clouds_yaml, monkeypatch):
    """:return: a function that makes a :class:`NodeSite`."""
    monkeypatch.setattr(OpenstackAdapter, 'list_interval', 0.02)
    furnish(cloud)
    return lambda *args, **kwargs: endWith(
        request, NodeSite(zk_client, cloud, *args, **kwargs))


@pytest.fixture
def nodes(makeNodes):
    return makeNodes()
