"""The section of a connection in ``zuul.conf``."""

from collections.abc import Mapping
import logging
from typing import TYPE_CHECKING, Any

import voluptuous as vs
from zuul.connection import BaseConnection
from zuul.lib.voluputil import Nullable, Optional, assemble

from zuul_nodes.drivers.api import bounds
from zuul_nodes.suggestions import suggest

if TYPE_CHECKING:
    from zuul_nodes.drivers.framework.driver import Driver

# Options that Zuul itself reads in the section of any connection.
OF_ZUUL = ('driver', 'name')


def makeSchema(driver_class: 'type[Driver]') -> vs.Schema:
    """:return: the schema of the options of a driver's connections."""
    return assemble(COMMON, vs.Schema(driver_class.connection_attributes))


COMMON = vs.Schema({
    Optional(
        'rate',
        doc="""Maximum number of calls to the cloud per second, of all
        endpoints together.  The launchers that handle the connection have
        equal shares of the rate.""",
    ): Nullable(vs.All(vs.Coerce(float), vs.Range(min=0))),
    Optional(
        'api_timeout',
        doc='Seconds that a call to the cloud may take.',
        default=60,
    ): vs.All(vs.Coerce(float), vs.Range(min=0, min_included=False)),
    **bounds.SCHEMA,
})


class AdapterConnection(BaseConnection):
    """A section ``[connection NAME]`` with the attributes that the driver
    declares.

    :raises Exception: an option is missing or invalid; Zuul does not start.
    """

    log = logging.getLogger('zuul.nodes.drivers')

    def __init__(self, driver: 'Driver', connection_name: str,
                 connection_config: Mapping[str, Any]) -> None:
        super().__init__(driver, connection_name, connection_config)
        self.driver_name = driver.name
        schema = driver.connection_schema
        known = [str(key) for key in schema.schema]
        given = {key: value for key, value in connection_config.items()
                 if key not in OF_ZUUL}
        for key in given.keys() - known:
            # Zuul ignores unknown options, so they are not an error here.
            self.log.warning(
                '[connection %s]: the driver %s has no option "%s". %s',
                connection_name, driver.name, key, suggest(key, known))
        try:
            attributes = schema({
                key: given[key] for key in given if key in known})
        except vs.Invalid as error:
            # Omit the value, which may be a secret.
            option = error.path[0] if error.path else ''
            raise Exception(f'[connection {connection_name}]: "{option}": '
                            f'{error.error_message}') from None
        self.__dict__.update(attributes)
