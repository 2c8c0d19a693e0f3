"""The attributes that the other drivers of a tenant know.

Images, flavors, labels and sections without a connection are shared by
providers of several clouds.  They may have attributes of any driver that the
tenant uses.
"""

import functools

from zuul.driver import ProviderInterface

from zuul_nodes.configloader.flattening.vocabulary import getVocabulary


class OtherDrivers:
    """
    :param Layout layout: the tenant's objects.
    :param dict connections: name -> connection
    :param driver: the driver whose attributes are not considered.
    """

    def __init__(self, layout, connections, driver):
        self.layout = layout
        self.connections = connections
        self.driver = driver

    def know(self, name):
        """:return: whether one of these drivers knows an attribute."""
        return any(vocabulary.knows(name)
                   for vocabulary in self._vocabularies)

    # Rarely needed, and it reads all sections.
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
