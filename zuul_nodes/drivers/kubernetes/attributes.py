"""What can be said of images, labels and providers in git."""

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
        raise vs.Invalid('expected a number, or text such as 500m or 4Gi')
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
    doc="""An existing namespace, or project, where the pod is made.  By
    default each pod gets a namespace of its own, which is removed with
    it.""",
): Nullable(str)}
SIZE = {
    **_makeAmount('cpu', """How many processors the pod requests: a number,
    or text such as ``500m``.  It gets no more if ``cpu-limit`` is not
    set."""),
    **_makeAmount('memory', """How much memory it requests: MiB, or text such
    as ``4Gi``."""),
    **_makeAmount('storage', """How much ephemeral storage it requests: MiB,
    or text such as ``20Gi``."""),
    **_makeAmount('cpu-limit', """How many processors it may use; by default
    as many as it requests."""),
    **_makeAmount('memory-limit', """How much memory it may use, as
    ``memory``."""),
    **_makeAmount('storage-limit', """How much ephemeral storage it may use,
    as ``storage``."""),
    **_makeAmount('gpu', """How many of ``gpu-resource`` it gets."""),
    Optional(
        'gpu-resource',
        doc='What GPUs are called in the cluster.',
        default='nvidia.com/gpu',
    ): str,
    Optional(
        'extra-resources', default={},
        doc="""How much it gets of other resources that the cluster has, such
        as ``example.com/license``.""",
    ): {str: AMOUNT},
}
POD = {
    Optional(
        'spec',
        doc="""The ``spec`` of the pod, as Kubernetes has it.  Its first
        container has to run for long and to have a shell.  Other attributes
        are added to the spec and to its first container, and take the place
        of what it says there.  Without it, the pod has one container of the
        image's ``image-id``.""",
    ): Nullable(dict),
    Optional(
        'annotations',
        doc='Annotations of the pod.',
    ): Nullable(dict),
    Optional(
        'env', default=[],
        doc="""Variables of the environment, each with ``name`` and
        ``value``, or whatever Kubernetes accepts there.""",
    ): [dict],
    Optional(
        'volumes', default=[],
        doc='Volumes of the pod, as Kubernetes has them.',
    ): [dict],
    Optional(
        'volume-mounts', default=[],
        doc="""Where they are in the first container, as Kubernetes has
        it.""",
    ): [dict],
    Optional(
        'node-selector', default={},
        doc='Labels of the machines where the pod may run.',
    ): {str: str},
    Optional(
        'tolerations', default=[],
        doc='Taints of machines that do not matter, as Kubernetes has them.',
    ): [dict],
    Optional(
        'privileged',
        doc="""Whether the first container is privileged.  By default as the
        cluster has it.""",
    ): Nullable(bool),
    Optional(
        'scheduler-name', doc='The scheduler that finds a place for the pod.',
    ): Nullable(str),
    Optional(
        'priority-class', doc='The priority class of the pod.',
    ): Nullable(str),
    Optional(
        'runtime-class', doc='The runtime class of the pod.',
    ): Nullable(str),
    Optional(
        'service-account',
        doc="""The service account that programs in the pod have.  In a
        namespace of its own there are ``default`` and ``zuul-worker``, which
        may look at the pod and run commands in it.""",
    ): Nullable(str),
    Optional(
        'console-log', default=False,
        doc="""Whether the log of the launcher has what the first container
        has written and the events of the pod, if the node does not come
        up.""",
    ): bool,
}
METADATA = {
    Optional(
        'labels', default={},
        doc='Labels of the pod and of its namespace.',
    ): {str: str},
    Optional(
        'dynamic-labels', default={},
        doc="""Labels with names in braces that stand for what the request
        says, such as ``{tenant_name}`` and ``{job_name}``; Nodepool's
        ``{request.tenant_name}`` is the same.  Nodes that are made to be
        ready do not have them.""",
    ): {str: str},
}
IMAGE = {
    Optional(
        'image-id',
        doc="""What the registry calls the container image, such as
        ``registry.example.com/ci/debian:12``.""",
    ): Nullable(str),
    Optional(
        'image-pull-policy',
        doc="""When it is pulled; by default as Kubernetes does.""",
    ): Nullable(vs.Any(
        Constant('Always', doc='For each pod.'),
        Constant('IfNotPresent', doc='If the machine does not have it.'),
        Constant('Never', doc='It has to be there.'),
        msg='expected "Always", "IfNotPresent" or "Never"')),
}


def checkLabel(label):
    """
    :param dict label: attribute, with underscores -> value.
    :return: the same.
    :raises vs.Invalid: its attributes do not fit together.
    """
    for attribute in ('labels', 'dynamic_labels', 'tags'):
        for key in label[attribute]:
            if not isKey(key):
                _refuse(attribute, f'"{key}" can not be a label of '
                        'Kubernetes: use letters, digits, ".", "_", "-"')
    for template in label['dynamic_labels'].values():
        if unknown := findUnknown(template, KNOWN):
            _refuse('dynamic_labels', f'a request has no "{unknown}"')
    _checkAnnotations(label)
    if label['kind'] == 'namespace':
        _checkNamespaceLabel(label)
    else:
        _checkPodLabel(label)
    return label


def _checkAnnotations(label):
    for key, value in (label['annotations'] or {}).items():
        if not isinstance(key, str) or not isKey(key):
            _refuse('annotations', f'"{key}" can not be an annotation of '
                    'Kubernetes: use letters, digits, ".", "_", "-"')
        if not isinstance(value, str):
            _refuse('annotations', f'the value of "{key}" is not text; put '
                    'it in quotes')


def _checkNamespaceLabel(label):
    # Sizes may be meant for other labels of the section.
    for key in (*NAMESPACE, *POD):
        if label[key.output]:
            _refuse(key.output, 'a label of the kind "namespace" has no pod; '
                    'take it out, or make the kind "pod"')


def _checkPodLabel(label):
    account, secrets = label['service_account'], label['image_pull_secrets']
    if label['namespace'] and not DNS_LABEL.fullmatch(label['namespace']):
        _refuse('namespace', f'no namespace can be called '
                f'"{label["namespace"]}": use up to 63 small letters, digits '
                'and "-"')
    if account and not label['namespace'] and account not in OWN_ACCOUNTS:
        _refuse('service_account', f'a new namespace has no service account '
                f'"{account}", but "default" and "{USER}"; or set '
                f'"namespace"')
    if len({each['name'] for each in secrets}) < len(secrets):
        _refuse('image_pull_secrets', 'several have the same name')
    if label['spec'] is None:
        return
    containers = label['spec'].get('containers')
    if not (isinstance(containers, list) and containers and all(
            isinstance(each, dict) and isinstance(each.get('name'), str)
            for each in containers)):
        _refuse('spec', 'it needs "containers", each with a "name"')
    try:
        quantities.getNeeds(label['spec'])
    except (AttributeError, TypeError, ValueError) as error:
        _refuse('spec', f'the resources of its containers are wrong: {error}')


def _refuse(attribute, message):
    raise vs.Invalid(message, [attribute.replace('_', '-')])


def _check(schema):
    # Without Schema, the kind would not tell which of them is meant.
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
    doc="""How much this provider uses at most: ``pods``, ``namespaces``,
    ``cores``, ``ram`` and ``storage`` (MiB), ``gpu``, and what else pods
    request, by its name in the cluster.""",
    default={},
): {str: vs.All(vs.Any(int, float), vs.Range(min=0))}}
KubernetesProviderSchema = extension.makeSchemaClass(
    kubernetesprovider.KubernetesProviderSchema, KubernetesImage,
    kubernetesprovider.KubernetesProviderFlavor, KubernetesLabel,
    RESOURCE_LIMITS)
