"""The driver API: what the author of a driver needs.

For a cloud that nobody here has heard of, one writes an :class:`Adapter`,
which says what the cloud can do and calls it, and a :class:`Driver`, which
says what people configure.  All else is done: the states of nodes and their
records, lists of instances that serve all nodes that wait, the rate of
calls, what to do after a crash, quota, leaks, and times of calls.

Drivers for clouds that Zuul knows are subclasses of Zuul's own classes;
:mod:`extension` adds to their attributes.  Both are one folder each, and know
nothing of one another.

What any driver may have beyond Zuul's interfaces:

``default_connections``
    names of connections that exist though ``zuul.conf`` has none.
``labels_need_image``
    false if labels may be without image and flavor.
``getNodeLabels(config, aliases=True)``
    the labels of the nodes that a configuration lists, if it lists any.
``nodes_are_given``
    true if its nodes are machines that are there already.  One that is
    ready is connected to before a request gets it, and nodes with the same
    address, port and user are one machine.  If its address is a name, what an
    instance has for ``host_id`` counts as its address, too, and so does each
    address that the launcher finds for the name.
``checkBounds(connection, config)``
    raises a :class:`bounds.BoundError` if a provider's flat configuration is
    more than the operator allows at the connection.
``checkAddress(connection, host, address)``
    the same, if nodes of the connection may not be at an address.  The
    launcher is about to connect there.
``getJobVariables(job, item)``
    a dictionary of what a job is told in its variable ``zuul``; any driver
    may have it.  It is called in schedulers and, without an event, in
    zuul-web, which has not registered a scheduler with the driver.

Providers may have ``getChecks()``, which yields a :class:`Check` for all that
their configuration names and that the cloud should have; ``zuul-nodes check``
asks, once if several are the same.

An entry of such nodes may have ``isCurrent(node)``: whether the record of
the node says what the entry says, and ``machine``, which is equal for
entries that are the same machine.  An instance may have ``host_keys``,
which the node has to show then.  An instance in the list of an endpoint may
have ``problem``: in words, why a node that is ready can't be used with it, for
example because it has been stopped; launchers make another node.  An endpoint
may have ``findProblem(node)``, which says the same of a node whose instances
are all well, and ``isListed(node)``: whether that list would have had an
instance of the node if there were one, for what may be listed can be less than
all.  Both are called after a list of instances.
"""

from zuul.lib.voluputil import Nullable, Optional, Required

from zuul_nodes.drivers.api import addresses, bounds
from zuul_nodes.drivers.api.adapter import Adapter
from zuul_nodes.drivers.api.check import Check, getUser, getViews
from zuul_nodes.drivers.api.configuration import (
    Attributes,
    ConfigObject,
    Connection,
)
from zuul_nodes.drivers.api.errors import (
    CapacityError,
    DriverError,
    GoneError,
    PermanentError,
    QuotaError,
    TemporaryError,
    reportGone,
)
from zuul_nodes.drivers.api.labels import (
    DEFAULT_PRIORITY,
    MOST_SLOTS,
    OWN,
    forNode,
    getOwn,
    getPriority,
    getZones,
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
from zuul_nodes.drivers.framework import extension
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
    'Ability',
    'Adapter',
    'Attributes',
    'CapacityError',
    'Check',
    'ConfigObject',
    'Connection',
    'Driver',
    'DriverError',
    'GoneError',
    'ImageSpec',
    'Instance',
    'InstanceSpec',
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
    'getNodeAttributes',
    'getNodeTags',
    'getOwn',
    'getPriority',
    'getUser',
    'getViews',
    'getZones',
    'refreshNeeds',
    'reportGone',
    'turnZones',
]
