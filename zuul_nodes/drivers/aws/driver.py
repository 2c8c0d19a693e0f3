"""The driver that Zuul loads."""

import zuul.driver.aws
from zuul.driver.aws.awsconnection import AwsConnection as ZuulsConnection

from zuul_nodes.drivers import bounds, extension
from zuul_nodes.drivers.aws import allowed, options
from zuul_nodes.drivers.aws.endpoint import AwsEndpoint
from zuul_nodes.drivers.aws.provider import AwsProvider, AwsProviderSchema


class AwsConnection(ZuulsConnection):
    """The connection of an AWS account.

    :ivar float api_timeout: seconds that AWS has to accept a connection,
        and to answer.
    :ivar image_owners, instance_profiles, buckets: what tenants may use, a
        frozenset of each; None for all.
    """

    def __init__(self, driver, connection_name, connection_config):
        super().__init__(driver, connection_name, connection_config)
        self.api_timeout = extension.readTimeout(self, options.API_TIMEOUT)
        for option in allowed.OPTIONS:
            setattr(self, option, bounds.getNames(self, option))


class AwsDriver(extension.ExtendedDriver, zuul.driver.aws.AwsDriver):
    """Zuul's driver for AWS.

    It tries another subnet, zone or market if there is no capacity, continues
    the work of a launcher that has died without duplicates or leaks, and
    checks the objects that a configuration names.
    """

    provider_class = AwsProvider
    schema_class = AwsProviderSchema
    connection_schema = options.SCHEMA
    _endpoint_class = AwsEndpoint

    def __init__(self):
        super().__init__()
        # Of several drivers with this name, the one in use registers its
        # class, which reads the records of providers.
        extension.setProviderClass(self.name, self.provider_class)

    def getConnection(self, name, config):
        return AwsConnection(self, name, config)

    def checkBounds(self, connection, config):
        allowed.check(connection, config)
