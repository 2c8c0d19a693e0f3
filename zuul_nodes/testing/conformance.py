"""The class whose subclasses are the tests of a driver."""

import contextlib

import pytest

from zuul_nodes.testing.configuration import ConfigurationScenarios
from zuul_nodes.testing.images import ImageScenarios
from zuul_nodes.testing.nodes import NodeScenarios
from zuul_nodes.testing.process import preload
from zuul_nodes.testing.site import Site
from zuul_nodes.testing.zookeeper import getZooKeeper


class DriverConformance(ConfigurationScenarios, NodeScenarios,
                        ImageScenarios):
    """To be subclassed; the fixture ``cloud`` has to give an object with

    ``connection``
        options of the connection ``cloud`` in ``zuul.conf``, a dictionary,
    ``configuration``
        what a tenant writes, from images to one provider: with a label
        ``label`` for nodes, and if the driver has images, also a label
        ``built`` whose image ``built`` is made by Zuul,
    ``list()``
        what there is in the cloud that could leak, instances, images and
        whatever else: a collection of strings,

    and may have

    ``addForeign()``
        makes an instance that is not Zuul's, and may not be removed,
    ``setLimit(number)``
        has the cloud have room for so many nodes of label ``label``;
        called before it is used,
    ``stopInstances()``
        stops all instances that there are, as people could do; with a
        driver that tells launchers of the ``problem`` of such instances,
    ``setSilent()``
        has the cloud accept calls, and never answer any,
    ``image``
        what is in the file of an image, if the cloud does not take just
        anything: bytes,
    ``makeStorage()``
        gives where images are that the cloud can import, if that is not any
        web server: an object with ``add(name, data)``, which gives the URL
        of a new file, and ``end()``.

    The launcher is another process than the tests, and the driver's class
    is imported there.  So the cloud is a file, a server or the like.

    :cvar driver_class: a subclass of ``zuul.driver.Driver``.
    :cvar abilities: what the cloud can do; with
        :mod:`zuul_nodes.drivers`, the adapter tells.
    :cvar int many: how many nodes there can be at once.
    """

    driver_class = None
    abilities = None
    many = 20

    @pytest.fixture
    def cloud(self):
        raise NotImplementedError('the fixture "cloud" is missing')

    @pytest.fixture
    def makeSite(self, request, tmp_path_factory, cloud):
        """:return: a function that makes a :class:`Site`."""
        preload(self.driver_class)
        with openSites(request.config, tmp_path_factory, self.driver_class,
                       cloud) as makeSite:
            yield makeSite

    @pytest.fixture
    def site(self, makeSite):
        site = makeSite()
        site.start()
        return site

    def getAbilities(self):
        adapter_class = getattr(self.driver_class, 'adapter_class', None)
        return self.abilities if self.abilities is not None else (
            adapter_class.abilities if adapter_class else frozenset())

    def need(self, *abilities):
        """Skip the test, unless the cloud has one of them."""
        if not self.getAbilities() & set(abilities):
            pytest.skip('the driver does not declare '
                        + ' or '.join(str(each) for each in abilities))

    def needMethod(self, cloud, name):
        """Skip the test, unless one can do something with the cloud."""
        if not hasattr(cloud, name):
            pytest.skip(f'the cloud has no {name}()')


@contextlib.contextmanager
def openSites(config, tmp_path_factory, driver_class, cloud):
    """:return: a function that makes a :class:`Site`; they end with this."""
    with contextlib.ExitStack() as stack:
        def make(**kwargs):
            site = Site(
                getZooKeeper(config, tmp_path_factory),
                tmp_path_factory.mktemp('site'), driver_class, cloud,
                **kwargs)
            stack.callback(site.end)
            return site
        yield make
