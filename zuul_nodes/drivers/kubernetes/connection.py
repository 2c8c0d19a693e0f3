"""The options of a cluster in ``zuul.conf``."""

import voluptuous as vs
from zuul.driver.kubernetes.kubernetesconnection import (
    KubernetesConnection as ZuulsConnection,
)
from zuul.lib.voluputil import Nullable, Optional

from zuul_nodes.drivers import bounds
from zuul_nodes.drivers.kubernetes import allowed

SCHEMA = vs.Schema({
    Optional(
        'kubeconfig_file',
        doc="""The file with the address of the cluster and the credentials.
        By default the file that ``KUBECONFIG`` names, ``~/.kube/config``, or,
        in a pod, the pod's own service account.""",
    ): Nullable(str),
    Optional(
        'context',
        doc='The context in the file; by default its current context.',
    ): Nullable(str),
    Optional(
        'rate',
        doc="""Maximum number of calls to the cluster per second; by default
        the cluster's own limit.  The launchers that handle the connection have
        equal shares of the rate.""",
    ): Nullable(vs.All(vs.Coerce(float), vs.Range(min=0))),
    Optional(
        'api_timeout',
        doc='Seconds that a call to the cluster may take.',
        default=60,
    ): vs.All(vs.Coerce(float), vs.Range(min=0, min_included=False)),
    Optional(
        'use_openshift_projects',
        doc='Whether nodes get projects of OpenShift instead of namespaces.',
        default=False,
    ): vs.Boolean(),
    **allowed.SCHEMA,
    **bounds.SCHEMA,
}, extra=vs.ALLOW_EXTRA)


class KubernetesConnection(ZuulsConnection):
    """A section ``[connection NAME]``.

    :raises Exception: an option is invalid; Zuul does not start.
    :ivar float rate: calls per second, or None.  Zuul's own driver has a
        default of 2, but does not apply it.
    :ivar float api_timeout: seconds.
    :ivar bool allow_privileged: whether pods may have power over machines.
    """

    def __init__(self, driver, connection_name, connection_config):
        try:
            options = SCHEMA(dict(connection_config))
        except vs.Invalid as error:
            raise Exception(
                f'[connection {connection_name}]: "{error.path[0]}": '
                f'{error.error_message}') from None
        super().__init__(driver, connection_name, connection_config)
        self.rate = options['rate']
        self.api_timeout = options['api_timeout']
        self.allow_privileged = options['allow_privileged']
        self.use_openshift_projects = options['use_openshift_projects']
