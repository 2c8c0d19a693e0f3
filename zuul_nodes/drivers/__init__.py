"""The driver API: everything that the author of a driver imports.

The author of a driver for a new cloud writes an :class:`Adapter`, which
declares the abilities of the cloud and calls it, and a :class:`Driver`, which
declares the configuration.  The framework does the rest: the states of nodes
and their records, lists of instances that serve all waiting nodes, the rate of
calls, crash recovery, quota, leaked resources, and metrics of calls.

Drivers for clouds that Zuul supports are subclasses of Zuul's own classes;
:mod:`extension` adds to their attributes.  Each driver is a folder of its own
and does not import another driver.

Drivers may define more than Zuul's interfaces require:

``default_connections``
    names of connections that exist even if ``zuul.conf`` does not have them.
``labels_need_image``
    false if labels may omit image and flavor.
``getNodeLabels(config, aliases=True)``
    the labels of the nodes that a configuration lists, if it lists any.
``nodes_are_given``
    true if the nodes are existing machines.  The launcher then connects to a
    ready node before it assigns the node to a request, and treats nodes with
    the same address, port and user as one machine.  If the address is a host
    name, ``host_id`` of the instance counts as an address as well, and so does
    each address that the launcher finds for the name.
``checkBounds(connection, config)``
    raises a :class:`bounds.BoundError` if a provider's flat configuration
    exceeds what the operator allows for the connection.
``checkAddress(connection, host, address)``
    raises the same error if nodes of the connection may not have an address.
    The launcher calls it before it connects to the address.
``getJobVariables(job, item)``
    returns a dictionary that Zuul adds to the variable ``zuul`` of a job.  Any
    driver may define it.  Schedulers call it, and zuul-web calls it without an
    event and without having registered a scheduler with the driver.

Providers may define ``getChecks()``, which yields a :class:`Check` for each
object of the cloud that their configuration names.  ``zuul-nodes check`` asks
equal questions once.

If ``nodes_are_given``, an entry of the configuration may define
``isCurrent(node)``, whether the record of the node matches the entry, and
``machine``, which is equal for entries of the same machine.

An instance may have ``host_keys``, which the node then has to present.  An
instance in the list of an endpoint may have ``problem``, the reason why a
ready node cannot be used with it, for example because it has been stopped; the
launcher then replaces the node.  An endpoint may define two methods that the
launcher calls after it has listed the instances: ``findProblem(node)`` returns
such a reason for a node whose instances have no problem, and
``isListed(node)`` returns whether the list would contain the instance of the
node, for a list that may be incomplete.
"""

from zuul.lib.voluputil import Nullable, Optional, Required

from zuul_nodes.drivers.api import addresses, bounds
from zuul_nodes.drivers.api.adapter import Adapter
from zuul_nodes.drivers.api.check import (
    Check,
    Found,
    getUser,
    getViews,
    makeForLabels,
)
from zuul_nodes.drivers.api.configuration import (
    Attributes,
    ConfigObject,
    Connection,
)
from zuul_nodes.drivers.api.errors import (
    CapacityError,
    DriverError,
    GoneError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
    reportGone,
)
from zuul_nodes.drivers.api.labels import (
    DEFAULT_PRIORITY,
    MOST_SLOTS,
    OWN,
    REQUEST_TIMEOUT,
    forNode,
    getMinReady,
    getNextMinReady,
    getOwn,
    getPriority,
    getRequestTimeout,
    getZones,
    mayBeReady,
    turnZones,
)
from zuul_nodes.drivers.api.model import (
    Ability,
    ImageSpec,
    Instance,
    InstanceSpec,
    Resource,
    State,
)
from zuul_nodes.drivers.api.tags import fillIn, findUnknown, getNodeTags
from zuul_nodes.drivers.framework import extension, rates
from zuul_nodes.drivers.framework.driver import Driver
from zuul_nodes.drivers.framework.memory import Memory
from zuul_nodes.drivers.framework.needs import getKnownNeeds, refreshNeeds
from zuul_nodes.drivers.framework.nodeattributes import (
    LABEL_OF_ANY_DRIVER,
    getNodeAttributes,
)
from zuul_nodes.drivers.framework.numbers import BOUNDS, beStrict, beStrictOf

__all__ = [
    'BOUNDS',
    'DEFAULT_PRIORITY',
    'LABEL_OF_ANY_DRIVER',
    'MOST_SLOTS',
    'OWN',
    'REQUEST_TIMEOUT',
    'Ability',
    'Adapter',
    'Attributes',
    'CapacityError',
    'Check',
    'ConfigObject',
    'Connection',
    'Driver',
    'DriverError',
    'Found',
    'GoneError',
    'ImageSpec',
    'Instance',
    'InstanceSpec',
    'LoginError',
    'Memory',
    'Nullable',
    'Optional',
    'PermanentError',
    'QuotaError',
    'Required',
    'Resource',
    'State',
    'TemporaryError',
    'addresses',
    'beStrict',
    'beStrictOf',
    'bounds',
    'extension',
    'fillIn',
    'findUnknown',
    'forNode',
    'getKnownNeeds',
    'getMinReady',
    'getNextMinReady',
    'getNodeAttributes',
    'getNodeTags',
    'getOwn',
    'getPriority',
    'getRequestTimeout',
    'getUser',
    'getViews',
    'getZones',
    'makeForLabels',
    'mayBeReady',
    'rates',
    'refreshNeeds',
    'reportGone',
    'turnZones',
]
