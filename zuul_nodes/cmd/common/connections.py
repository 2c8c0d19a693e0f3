"""The connections of zuul.conf, with few drivers.

Zuul's registry of connections imports every driver, with the libraries of
each cloud and code review system.  That takes longer than all else that a
command does which reads the configuration.
"""

from zuul.connection import BaseConnection

from zuul_nodes import zuulconf
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, registry

# Their connections exist even if zuul.conf does not name the driver.
UNNAMED = frozenset({'static', 'timer', 'zuul'})
# Sections that define a connection of their name, with a driver of that name.
FORMER = ('gerrit', 'smtp')


class Connections:
    """Has of Zuul's registry of connections what reading a layout takes.

    It loads the drivers that zuul.conf names, and those that Zuul does not
    have, which may have connections without zuul.conf.  So a layout also gets
    errors about attributes that only other drivers know.  They concern no
    provider: its attributes are those of its own driver.

    :param ConfigParser config: zuul.conf
    :ivar dict drivers: name -> driver
    :ivar dict connections: name -> connection
    :raises UserError: zuul.conf is invalid, or a driver cannot be loaded.
    """

    def __init__(self, config):
        sections = zuulconf.getConnections(config)
        former = {name: config[name] for name in FORMER
                  if config.has_section(name) and name not in sections}
        named = {name: section.get('driver', raw=True)
                 for name, section in sections.items()}
        named.update(zip(former, former, strict=True))
        self.drivers = _loadDrivers(set(named.values()))
        self.connections = {
            name: self._connect(name, section, named[name])
            for name, section in (sections | former).items()}
        for driver in self.drivers.values():
            if not hasattr(driver, 'getConnection'):
                self.connections[driver.name] = BaseConnection(
                    driver, driver.name, {})
        registry.addDefaultConnections(self)

    def _connect(self, name, section, driver_name):
        try:
            if not driver_name:
                raise UserError(f'No driver specified for connection {name}.')
            # Zuul's database has a section of its own.
            if driver_name not in self.drivers or driver_name == 'sql':
                raise UserError(
                    f'Unknown driver, {driver_name}, for connection {name}')
            return self.drivers[driver_name].getConnection(
                name, dict(section))
        except Exception as error:
            raise UserError(f'zuul.conf: {error}') from error

    def getSource(self, connection_name):
        """:return: the source of projects of a connection."""
        connection = self.connections[connection_name]
        return connection.driver.getSource(connection)


def _loadDrivers(named):
    """
    :param set named: the drivers that zuul.conf names.
    :return: name -> driver, without the names that no driver has.
    """
    installed = extensions.find()[extensions.DRIVERS]
    wanted = {*named, *UNNAMED,
              *(installed.keys() - extensions.getZuulDriverNames())}
    classes = {name: extensions.loadOne(installed[name]) if name in installed
               else extensions.findZuulDriver(name) for name in wanted}
    return {name: cls() for name, cls in classes.items() if cls}
