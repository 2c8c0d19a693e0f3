"""Attributes of images, labels and providers."""

import voluptuous as vs
from zuul.driver.kubernetes import kubernetesprovider
from zuul.lib.voluputil import Constant, Nullable, Optional

from zuul_nodes.drivers import extension, findUnknown
from zuul_nodes.drivers.kubernetes import quantities
from zuul_nodes.drivers.kubernetes.allowed import OWN_ACCOUNTS
from zuul_nodes.drivers.kubernetes.metadata import (
    DNS_LABEL,
    KNOWN,
    isKey,
)
from zuul_nodes.drivers.kubernetes.podspec import USER


def _checkAmount(value):
    if isinstance(value, bool):
        raise vs.Invalid('expected a number, or a string such as 500m or 4Gi')
    try:
        amount = quantities.parse(value)
    except ValueError as error:
        raise vs.Invalid(str(error)) from None
    if amount < 0:
        raise vs.Invalid('expected 0 or more')
    return value


AMOUNT = vs.All(vs.Any(int, float, str), _checkAmount)


def _makeAmount(name, doc):
    return {Optional(name, doc=doc): Nullable(AMOUNT)}


NAMESPACE = {Optional(
    'namespace',
    doc="""An existing namespace, or project, for the pod.  By default each
    pod gets a namespace of its own, which is deleted with it.""",
): Nullable(str)}
SIZE = {
    **_makeAmount('cpu', """Number of processors that the pod requests: a
    number, or a string such as ``500m``.  It is also the limit if
    ``cpu-limit`` is not set."""),
    **_makeAmount('memory', """Memory that the pod requests: MiB, or a string
    such as ``4Gi``."""),
    **_makeAmount('storage', """Ephemeral storage that the pod requests: MiB,
    or a string such as ``20Gi``."""),
    **_makeAmount('cpu-limit', """Maximum number of processors; by default the
    number that the pod requests."""),
    **_makeAmount('memory-limit', """Maximum memory, in the format of
    ``memory``."""),
    **_makeAmount('storage-limit', """Maximum ephemeral storage, in the format
    of ``storage``."""),
    **_makeAmount('gpu', """Number of ``gpu-resource`` of the pod."""),
    Optional(
        'gpu-resource',
        doc='The resource name of GPUs in the cluster.',
        default='nvidia.com/gpu',
    ): str,
    Optional(
        'extra-resources', default={},
        doc="""Amounts of other resources of the cluster, such as
        ``example.com/license``.""",
    ): {str: AMOUNT},
}
POD = {
    Optional(
        'spec',
        doc="""The ``spec`` of the pod in Kubernetes.  Its first container must
        keep running and have a shell.  Other attributes are added to the spec
        and to its first container, and override values there.  Without
        ``spec``, the pod has one container with the image's ``image-id``.""",
    ): Nullable(dict),
    Optional(
        'annotations',
        doc='Annotations of the pod, key -> text.',
    ): Nullable(dict),
    Optional(
        'env', default=[],
        doc="""Environment variables, each with ``name`` and ``value``, or
        another form that Kubernetes accepts.""",
    ): [dict],
    Optional(
        'volumes', default=[],
        doc='Volumes of the pod, in the format of Kubernetes.',
    ): [dict],
    Optional(
        'volume-mounts', default=[],
        doc="""Mounts of the volumes in the first container, in the format of
        Kubernetes.""",
    ): [dict],
    Optional(
        'node-selector', default={},
        doc='Labels that the cluster node of the pod must have.',
    ): {str: str},
    Optional(
        'tolerations', default=[],
        doc="""Taints of cluster nodes that the pod tolerates, in the format of
        Kubernetes.""",
    ): [dict],
    Optional(
        'privileged',
        doc="""Whether the first container is privileged.  By default, the
        default of the cluster.""",
    ): Nullable(bool),
    Optional(
        'scheduler-name', doc='The scheduler that assigns the pod a machine.',
    ): Nullable(str),
    Optional(
        'priority-class', doc='The priority class of the pod.',
    ): Nullable(str),
    Optional(
        'runtime-class', doc='The runtime class of the pod.',
    ): Nullable(str),
    Optional(
        'service-account',
        doc="""The service account of programs in the pod.  In a namespace of
        its own, the accounts are ``default`` and ``zuul-worker``, which may
        read the pod and run commands in it.""",
    ): Nullable(str),
    Optional(
        'console-log', default=False,
        doc="""Whether to write the output of the first container and the
        events of the pod to the launcher's log if the node does not
        boot.""",
    ): bool,
}
METADATA = {
    Optional(
        'labels', default={},
        doc="""Labels of the pod and of its namespace.  Text that cannot be a
        label is fitted with a digest.""",
    ): {str: str},
    Optional(
        'dynamic-labels', default={},
        doc="""Labels with fields in braces that are filled in from the
        request: ``{request_id}``, ``{tenant_name}``, ``{pipeline_name}``,
        ``{job_name}``, ``{job_uuid}``, ``{buildset_uuid}`` and
        ``{zuul_event_id}``; Nodepool's ``{request.tenant_name}`` is the same
        as ``{tenant_name}``.  Nodes of ``min-ready`` do not have them.""",
    ): {str: str},
}
IMAGE = {
    Optional(
        'image-id',
        doc="""The name of the container image in its registry, such as
        ``registry.example.com/ci/debian:12``.  A label may have it, too.""",
    ): Nullable(str),
    Optional(
        'image-pull-policy',
        doc="""When the image is pulled; by default as in Kubernetes.""",
    ): Nullable(vs.Any(
        Constant('Always', doc='For each pod.'),
        Constant('IfNotPresent', doc='If the machine does not have it.'),
        Constant('Never', doc='The machine must have it.'),
        msg='expected "Always", "IfNotPresent" or "Never"')),
}


def checkLabel(label):
    """
    :param dict label: attribute, with underscores -> value.
    :return: the same.
    :raises vs.Invalid: an attribute is invalid, or contradicts another one.
    """
    for attribute in ('labels', 'dynamic_labels', 'tags'):
        for key in label[attribute]:
            if not isKey(key):
                _refuse(attribute, f'"{key}" cannot be a label of '
                        'Kubernetes: use letters, digits, ".", "_", "-"')
    for template in label['dynamic_labels'].values():
        if unknown := findUnknown(template, KNOWN):
            _refuse('dynamic_labels', f'a request has no field "{unknown}"')
    _checkAnnotations(label)
    if label['kind'] == 'namespace':
        _checkNamespaceLabel(label)
    else:
        _checkPodLabel(label)
    return label


def _checkAnnotations(label):
    for key, value in (label['annotations'] or {}).items():
        if not isinstance(key, str) or not isKey(key):
            _refuse('annotations', f'"{key}" cannot be an annotation of '
                    'Kubernetes: use letters, digits, ".", "_", "-"')
        if not isinstance(value, str):
            _refuse('annotations', f'the value of "{key}" is not a string; '
                    'put it in quotes')


def _checkNamespaceLabel(label):
    # Sizes are allowed: they may be defaults for other labels of the section.
    for key in (*NAMESPACE, *POD):
        if label[key.output]:
            _refuse(key.output, 'a label of the kind "namespace" has no pod; '
                    'remove the attribute, or use the kind "pod"')


def _checkPodLabel(label):
    account, secrets = label['service_account'], label['image_pull_secrets']
    if label['namespace'] and not DNS_LABEL.fullmatch(label['namespace']):
        _refuse('namespace', f'"{label["namespace"]}" cannot be a namespace: '
                'use up to 63 lower-case letters, digits and "-"')
    if account and not label['namespace'] and account not in OWN_ACCOUNTS:
        _refuse('service_account', f'a new namespace has no service account '
                f'"{account}"; use "default" or "{USER}", or set "namespace"')
    if len({each['name'] for each in secrets}) < len(secrets):
        _refuse('image_pull_secrets', 'several have the same name')
    if label['spec'] is None:
        return
    containers = label['spec'].get('containers')
    if not (isinstance(containers, list) and containers and all(
            isinstance(each, dict) and isinstance(each.get('name'), str)
            for each in containers)):
        _refuse('spec', '"containers" must be a list, each item with a "name"')
    try:
        quantities.getNeeds(label['spec'])
    except (AttributeError, TypeError, ValueError) as error:
        _refuse('spec',
                f'the resources of its containers are invalid: {error}')


def _refuse(attribute, message):
    raise vs.Invalid(message, [attribute.replace('_', '-')])


def _check(schema):
    # The discriminator reads the kind of each alternative from a Schema.
    return vs.Schema(vs.Union(
        *(vs.All(each, checkLabel) for each in schema.validators),
        discriminant=schema.discriminant))


_Label = extension.extendClass(
    kubernetesprovider.KubernetesProviderLabel,
    {**NAMESPACE, **SIZE, **POD, **METADATA})


class KubernetesLabel(_Label):
    """A label, of a pod or of a namespace."""

    schema = _check(_Label.schema)
    internal_schema = _check(_Label.internal_schema)


class KubernetesImage(extension.extendImageClass(
        kubernetesprovider.KubernetesProviderImage, cloud=IMAGE)):
    """A container image in a registry."""


RESOURCE_LIMITS = {Optional(
    'resource-limits',
    doc="""Maximum usage of this provider: ``pods``, ``namespaces``,
    ``cores``, ``ram`` and ``storage`` (MiB), ``gpu``, and other resources that
    pods request, by their names in the cluster.""",
    default={},
): {str: vs.All(vs.Any(int, float), vs.Range(min=0))}}
KubernetesProviderSchema = extension.makeSchemaClass(
    kubernetesprovider.KubernetesProviderSchema, KubernetesImage,
    kubernetesprovider.KubernetesProviderFlavor, KubernetesLabel,
    RESOURCE_LIMITS)
