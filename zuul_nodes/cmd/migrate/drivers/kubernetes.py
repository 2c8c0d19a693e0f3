"""Providers in Kubernetes and OpenShift."""

import dataclasses
import re

from zuul_nodes.cmd.migrate import values
from zuul_nodes.cmd.migrate.drivers import common
from zuul_nodes.cmd.migrate.rules import (
    HANDLED,
    Default,
    Driver,
    Place,
    To,
    Unfit,
)
from zuul_nodes.cmd.migrate.tree import getOrigin

# Attributes of labels that stay as they are.
SAME = (
    'annotations', 'cpu', 'memory', 'storage', 'cpu-limit', 'memory-limit',
    'storage-limit', 'extra-resources', 'gpu', 'gpu-resource', 'env',
    'node-selector', 'scheduler-name', 'privileged', 'volumes',
    'volume-mounts', 'spec', 'image-pull-secrets', 'python-path',
    'shell-type')
OF_ALL_LABELS = ('cpu', 'memory', 'storage', 'cpu-limit', 'memory-limit',
                 'storage-limit', 'extra-resources')
KINDS = {'pod': 'pod', 'namespace': 'namespace', 'project': 'namespace'}
LIMITS = {'max-servers', 'max-projects', 'max-pods', *common.RESOURCES}


def makeConnector(**more):
    """:return: a function that makes connections with more options."""
    def makeConnection(provider):
        options = common.getOptions(provider, {
            'context': 'context', 'rate': 'rate'})
        options.update(more)
        context = str(options.get('context') or '')
        # The names of contexts of OpenShift contain servers and users.
        return (context if re.fullmatch(r'[\w.-]+', context)
                else provider['name'], options)
    return makeConnection


def getKind(value):
    """:return: the kind of a label, for its type in Nodepool."""
    if value not in KINDS:
        raise Unfit(f'it is none of {", ".join(KINDS)}')
    return KINDS[value]


def complete(parts, label, pool):
    attributes = parts[Place.LABEL]
    attributes.setdefault('kind', 'pod')
    if attributes['kind'] == 'namespace':
        for name in ('image-id', 'image-pull-policy'):
            attributes.pop(name, None)


def completeSharedNamespace(parts, label, pool):
    complete(parts, label, pool)
    # The pool has the name of the namespace.
    parts[Place.LABEL].put('namespace', pool['name'],
                           getOrigin(pool, 'name').withoutComments())


POOL = {
    **common.POOL, **common.RESOURCES,
    **{f'default-label-{name}': To(Place.LABEL_DEFAULTS, name)
       for name in OF_ALL_LABELS},
    'default-label-extra_resources': To(Place.LABEL_DEFAULTS,
                                        'extra-resources'),
}
LABEL = {
    'name': HANDLED,
    'type': To(Place.LABEL, 'kind', getKind),
    'image': To(Place.LABEL, 'image-id'),
    'image-pull': To(Place.LABEL, 'image-pull-policy'),
    'labels': To(Place.LABEL, convert=values.texts),
    'dynamic-labels': To(
        Place.LABEL, convert=values.renameFields(values.LABEL_FIELDS)),
    **{name: To(Place.LABEL) for name in SAME},
}
PROVIDER = {
    **{name: rule for name, rule in common.PROVIDER.items()
       if name != 'boot-timeout'},
    'rate': HANDLED,
    'context': HANDLED,
    **{name: HANDLED for name in LIMITS},
}


def makeDriver(connection=None, complete_label=complete, **limits):
    """
    :param dict connection: options of all connections.
    :param limits: the limits of the number of nodes: attribute -> rule.
    """
    return Driver(
        driver='kubernetes',
        connection=makeConnector(**(connection or {})),
        provider=PROVIDER,
        pool={**POOL, **limits},
        label=LABEL,
        # Zuul's default is that of the cluster.
        defaults=(Default(Place.SECTION, 'image-pull-policy',
                          'IfNotPresent'),),
        inherited=(*common.RESOURCES, *limits),
        complete=complete_label,
        has_images=False,
    )


# A pod that has a namespace of its own counts as one of both.
NAMESPACES = To(Place.LIMITS, 'namespaces', values.limit)
PODS = To(Place.LIMITS, 'pods', values.limit)
KUBERNETES = makeDriver(**{'max-servers': NAMESPACES})
OPENSHIFT = makeDriver(
    connection={'use_openshift_projects': True},
    **{'max-servers': NAMESPACES, 'max-projects': NAMESPACES})
OPENSHIFT_PODS = makeDriver(
    complete_label=completeSharedNamespace,
    **{'max-servers': PODS, 'max-projects': PODS,
       'max-pods': dataclasses.replace(
           PODS, changes='it takes effect; Nodepool 11 ignores it')})
