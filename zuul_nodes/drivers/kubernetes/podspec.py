"""Build the pod of a label.

The pod has the label's ``spec``, or one with a container that waits.  The
attributes of label and image are added to its first container.
"""

import copy

from zuul_nodes.drivers import getOwn
from zuul_nodes.drivers.kubernetes.metadata import makeMetadata

USER = 'zuul-worker'
CONTAINER = 'node'
# Executors run kubectl, which uses the container in this annotation rather
# than the first one.
# https://kubernetes.io/docs/reference/labels-annotations-taints/
DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container'
# Waits, in any image that has a shell.
COMMAND = ['/bin/sh', '-c', 'while sleep 3600; do :; done']
# Grace period in seconds: the shell ignores the signal to end.
GRACE = 1
# Label attributes of amounts: request, limit, resource, unit.
AMOUNTS = (
    ('cpu', 'cpu_limit', 'cpu', ''),
    ('memory', 'memory_limit', 'memory', 'Mi'),
    ('storage', 'storage_limit', 'ephemeral-storage', 'Mi'))
# Label attribute -> name in the spec.
OF_THE_POD = (
    ('node_selector', 'nodeSelector'),
    ('scheduler_name', 'schedulerName'),
    ('service_account', 'serviceAccountName'),
    ('priority_class', 'priorityClassName'),
    ('runtime_class', 'runtimeClassName'))
LISTS_OF_THE_POD = (('volumes', 'volumes'), ('tolerations', 'tolerations'))
LISTS_OF_THE_CONTAINER = (('env', 'env'), ('volume_mounts', 'volumeMounts'))


def getImage(label, image):
    """
    :return: attribute -> value, of the image as the label overrides it.
    """
    own = getOwn(label).get('image', {})
    return {name: own.get(name, getattr(image, name.replace('-', '_'), None))
            for name in ('image-id', 'image-pull-policy')}


def makeSpec(label, image=None):
    """
    :param label: of the kind ``pod``.
    :param image: its image; without it, the spec has no image.
    :return: the spec of the pod, a dict.
    """
    spec = copy.deepcopy(label.spec) or {
        'containers': [{'name': CONTAINER, 'command': COMMAND}],
        'restartPolicy': 'Never', 'terminationGracePeriodSeconds': GRACE,
        'enableServiceLinks': False}
    container = spec['containers'][0]
    of_image = getImage(label, image)
    _set(container, 'image', of_image['image-id'])
    _set(container, 'imagePullPolicy', of_image['image-pull-policy'])
    if resources := _makeResources(label):
        present = container.setdefault('resources', {})
        for kind, amounts in resources.items():
            present[kind] = {**present.get(kind, {}), **amounts}
    if label.privileged is not None:
        container.setdefault('securityContext', {})[
            'privileged'] = label.privileged
    for name, key in OF_THE_POD:
        _set(spec, key, getattr(label, name))
    for target, lists in ((spec, LISTS_OF_THE_POD),
                          (container, LISTS_OF_THE_CONTAINER)):
        for name, key in lists:
            if value := getattr(label, name):
                target[key] = [*(target.get(key) or ()), *value]
    if label.image_pull_secrets and not label.spec:
        spec['imagePullSecrets'] = [
            {'name': each['name']} for each in label.image_pull_secrets]
    return spec


def makePod(name, label, image, tags):
    """
    :param str name: of the pod.
    :param dict tags: of its node.
    :return: the pod, as the body of a request.
    """
    spec = makeSpec(label, image)
    annotations = {DEFAULT_CONTAINER: spec['containers'][0]['name'],
                   **(label.annotations or {})}
    return {'apiVersion': 'v1', 'kind': 'Pod',
            'metadata': {'name': name, **makeMetadata(tags, annotations)},
            'spec': spec}


def _set(target, key, value):
    if value not in (None, {}):
        target[key] = value


def _makeResources(label):
    """:return: the requests and the limits of each resource."""
    requests, limits = {}, {}
    for name, limit_name, resource, unit in AMOUNTS:
        request, limit = getattr(label, name), getattr(label, limit_name)
        # Without a limit of its own, the request is the limit.
        limit = request if limit is None else limit
        if request is not None:
            requests[resource] = _write(request, unit)
        if limit is not None:
            limits[resource] = _write(limit, unit)
    extra = dict(label.extra_resources)
    if label.gpu:
        extra[label.gpu_resource] = label.gpu
    for amounts in (requests, limits):
        amounts.update((resource, _write(amount, ''))
                       for resource, amount in extra.items())
    return {kind: amounts for kind, amounts in (
        ('requests', requests), ('limits', limits)) if amounts}


def _write(amount, unit):
    """:return: an amount in the format of Kubernetes; strings are unchanged.
    """
    return amount if isinstance(amount, str) else f'{amount}{unit}'
