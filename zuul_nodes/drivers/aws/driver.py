"""What Zuul gets of all this."""

import zuul.driver.aws
from zuul.driver.aws.awsconnection import AwsConnection as ZuulsConnection

from zuul_nodes.drivers import bounds, extension
from zuul_nodes.drivers.aws import allowed
from zuul_nodes.drivers.aws.endpoint import AwsEndpoint
from zuul_nodes.drivers.aws.provider import AwsProvider, AwsProviderSchema

# Seconds that a call may take.
CALL_TIMEOUT = 60


class AwsConnection(ZuulsConnection):
    """
    :ivar float api_timeout: seconds that AWS has to accept a connection,
        and to answer.
    :ivar image_owners, instance_profiles, buckets: what tenants may use, a
        frozenset of each; None for all.
    """

    def __init__(self, driver, connection_name, connection_config):
        super().__init__(driver, connection_name, connection_config)
        self.api_timeout = extension.readTimeout(self, CALL_TIMEOUT)
        for option in allowed.OPTIONS:
            setattr(self, option, bounds.getNames(self, option))


class AwsDriver(extension.ExtendedDriver, zuul.driver.aws.AwsDriver):
    """Zuul's driver for AWS.

    Nodes go to another subnet, zone or market if there is no room, what a
    launcher has begun that died is neither made twice nor forgotten, and
    all that a configuration names can be checked.
    """

    provider_class = AwsProvider
    schema_class = AwsProviderSchema
    _endpoint_class = AwsEndpoint

    def __init__(self):
        super().__init__()
        # Records are read by the driver that is used, of all of its name.
        extension.setProviderClass(self.name, self.provider_class)

    def getConnection(self, name, config):
        return AwsConnection(self, name, config)

    def checkBounds(self, connection, config):
        allowed.check(connection, config)
