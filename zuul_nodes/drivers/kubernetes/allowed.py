"""Bounds that the operator of a cluster sets for pods, in ``zuul.conf``.

The powers of a pod over its machine are those that Kubernetes denies at the
level "baseline" of its standards:
https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
"""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional

from zuul_nodes.drivers import bounds
from zuul_nodes.drivers.kubernetes.podspec import USER

# The service accounts in the namespace of a node.
OWN_ACCOUNTS = frozenset(('default', USER))
SCHEMA = {
    Optional(
        'namespaces',
        doc="""The existing namespaces in which pods may be created, separated
        by commas; by default all.  Empty: only new ones.""",
    ): Nullable(str),
    Optional(
        'service_accounts',
        doc="""The service accounts that pods may use besides ``default``
        and ``zuul-worker``, separated by commas; by default all.""",
    ): Nullable(str),
    Optional(
        'secret_namespaces',
        doc="""The namespaces from which ``image-pull-secrets`` may be
        copied, separated by commas; by default all.  Only secrets of the types
        ``kubernetes.io/dockerconfigjson`` and ``kubernetes.io/dockercfg`` are
        copied.""",
    ): Nullable(str),
    Optional(
        'allow_privileged', default=True,
        doc="""Whether pods may have power over their machines: be
        privileged, use the machine's namespaces, directories or ports, or have
        capabilities that containers do not have by default.""",
    ): vs.Boolean(),
}
HOST_NAMESPACES = ('hostNetwork', 'hostPID', 'hostIPC')
CONTAINERS = ('containers', 'initContainers', 'ephemeralContainers')
CAPABILITIES = frozenset((
    'AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL',
    'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID',
    'SYS_CHROOT'))
SYSCTLS = frozenset((
    'kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range',
    'net.ipv4.ip_local_reserved_ports', 'net.ipv4.ip_unprivileged_port_start',
    'net.ipv4.ping_group_range', 'net.ipv4.tcp_fin_timeout',
    'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes',
    'net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_syncookies'))


def check(connection, config):
    """
    :param KubernetesConnection connection:
    :param dict config: the flat configuration of a provider.
    :raises BoundError: the operator does not allow a label.
    """
    for label in config['labels']:
        spec = _getDict(label.get('spec'))
        _checkNames(connection, 'namespaces', label, 'is in the namespace',
                    [label.get('namespace')])
        _checkNames(connection, 'service_accounts', label,
                    'has the service account', [
                        label.get('service-account'),
                        spec.get('serviceAccountName'),
                        spec.get('serviceAccount')], OWN_ACCOUNTS)
        _checkNames(connection, 'secret_namespaces', label,
                    'has image pull secrets of the namespace',
                    [each.get('namespace') for each in _getDicts(
                        label.get('image-pull-secrets'))])
        if not connection.allow_privileged:
            for power in findPowers(label, spec):
                raise bounds.BoundError(
                    f'its label "{label["name"]}" has {power}, which '
                    f'{bounds.describe(connection, "allow_privileged")} '
                    'does not allow')


def _checkNames(connection, option, label, what, names, always=frozenset()):
    bounds.checkNames(connection, option, names,
                      f'its label "{label["name"]}" {what}', always)


def findPowers(label, spec):
    """
    :param dict label: the flat configuration of a label.
    :param dict spec: the pod's spec in it; may have any type.
    :return: yields a description of each attribute that gives the pod power
        over its machine.
    """
    if label.get('privileged'):
        yield '"privileged"'
    for name in HOST_NAMESPACES:
        if spec.get(name):
            yield f'"{name}"'
    for volume in (*_getDicts(spec.get('volumes')),
                   *_getDicts(label.get('volumes'))):
        if 'hostPath' in volume:
            yield 'a volume of the kind "hostPath"'
    yield from _findOfContext(_getDict(spec.get('securityContext')))
    for kind in CONTAINERS:
        for container in _getDicts(spec.get(kind)):
            yield from _findOfContext(
                _getDict(container.get('securityContext')))
            for port in _getDicts(container.get('ports')):
                if port.get('hostPort'):
                    yield 'a "hostPort"'


def _findOfContext(context):
    """:return: yields a description of each power in a security context."""
    if context.get('privileged'):
        yield '"privileged" in a security context'
    added = _getList(_getDict(context.get('capabilities')).get('add'))
    if not set(map(str, added)) <= CAPABILITIES:
        yield 'capabilities that containers do not have by default'
    if context.get('procMount') not in (None, 'Default'):
        yield '"procMount"'
    if _getDict(context.get('windowsOptions')).get('hostProcess'):
        yield '"hostProcess"'
    for name in 'seccompProfile', 'appArmorProfile':
        if _getDict(context.get(name)).get('type') == 'Unconfined':
            yield f'an unconfined "{name}"'
    if context.get('seLinuxOptions'):
        yield '"seLinuxOptions"'
    if any(str(each.get('name')) not in SYSCTLS
           for each in _getDicts(context.get('sysctls'))):
        yield 'a "sysctl" that affects more than the pod'


def _getDict(value):
    return value if isinstance(value, dict) else {}


def _getDicts(value):
    return [each for each in _getList(value) if isinstance(each, dict)]


def _getList(value):
    return value if isinstance(value, list | tuple) else []
