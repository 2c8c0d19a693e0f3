"""What the other drivers of a tenant know.

Images, flavors, labels and sections without a connection are shared by
providers of several clouds, each of which has attributes of its own.
"""

import functools

from zuul.driver import ProviderInterface

from zuul_nodes.configloader.flattening.vocabulary import getVocabulary


class OtherDrivers:
    """
    :param Layout layout: what the tenant has.
    :param dict connections: name -> connection
    :param driver: whose attributes do not count.
    """

    def __init__(self, layout, connections, driver):
        self.layout = layout
        self.connections = connections
        self.driver = driver

    def know(self, name):
        """:return: whether an attribute means anything to one of them."""
        return any(vocabulary.knows(name)
                   for vocabulary in self._vocabularies)

    # Hardly ever needed, and it looks at all sections.
    @functools.cached_property
    def _vocabularies(self):
        names = {config_object.config.get('connection')
                 for objects in (self.layout.sections,
                                 self.layout.provider_configs)
                 for config_object in objects.values()}
        drivers = {self.connections[name].driver
                   for name in names & self.connections.keys()}
        return [getVocabulary(driver.getProviderSchemaClass())
                for driver in drivers - {self.driver}
                if isinstance(driver, ProviderInterface)]
