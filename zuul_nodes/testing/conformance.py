"""The base class of the tests of a driver."""

from collections.abc import Iterator
import contextlib

import pytest
from zuul.driver import Driver as ZuulDriver

from zuul_nodes.testing.cloud import Cloud
from zuul_nodes.testing.configuration import ConfigurationScenarios
from zuul_nodes.testing.images import ImageScenarios
from zuul_nodes.testing.nodes import NodeScenarios
from zuul_nodes.testing.process import preload
from zuul_nodes.testing.scenarios import MakeSite
from zuul_nodes.testing.site import Site
from zuul_nodes.testing.zookeeper import getZooKeeper


class DriverConformance(ConfigurationScenarios, NodeScenarios,
                        ImageScenarios):
    """Tests of a driver; subclasses define ``driver_class`` and the fixture
    ``cloud``."""

    @pytest.fixture
    def cloud(self) -> Cloud:
        """:return: the cloud that a subclass provides."""
        raise NotImplementedError('the fixture "cloud" is missing')

    @pytest.fixture
    def makeSite(self, request: pytest.FixtureRequest,
                 tmp_path_factory: pytest.TempPathFactory,
                 cloud: Cloud) -> Iterator[MakeSite]:
        """:return: a function that creates a :class:`Site`."""
        preload(self.driver_class)
        with openSites(request.config, tmp_path_factory, self.driver_class,
                       cloud) as makeSite:
            yield makeSite

    @pytest.fixture
    def site(self, makeSite: MakeSite) -> Site:
        site = makeSite()
        site.start()
        return site


@contextlib.contextmanager
def openSites(config: pytest.Config, tmp_path_factory: pytest.TempPathFactory,
              driver_class: type[ZuulDriver],
              cloud: Cloud) -> Iterator[MakeSite]:
    """:return: a function that creates a :class:`Site`, which ends with the
        context."""
    with contextlib.ExitStack() as stack:
        def make(uploading: bool = False) -> Site:
            site = Site(
                getZooKeeper(config, tmp_path_factory),
                tmp_path_factory.mktemp('site'), driver_class, cloud,
                uploading)
            stack.callback(site.end)
            return site
        yield make
