"""The service account through which jobs use a node.

Executors log in to the cluster with its token.  In a namespace of the node's
own, the account may access the pod, or everything if there is no pod.  In a
shared namespace, it may access this pod only, and is deleted with the pod.
"""

import base64

from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.kubernetes.podspec import USER

TOKEN = 'kubernetes.io/service-account-token'
ACCOUNT_ANNOTATION = 'kubernetes.io/service-account.name'
# https://kubernetes.io/docs/concepts/configuration/secret/#docker-config-secrets
PULL_SECRETS = ('kubernetes.io/dockerconfigjson', 'kubernetes.io/dockercfg')
ALL_VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']
# Lifetime in seconds of a token that is not stored in a secret.
TOKEN_LIFETIME = 7 * 24 * 3600


class Access:
    """Builds the account of a node and the objects that belong to it.

    :param str namespace: of the node.
    :param str pod: its name; None if the node is the namespace.
    :param dict owner: the pod, as the API server returns it, if the namespace
        is shared; otherwise None.
    """

    def __init__(self, namespace, pod, owner=None):
        self.namespace = namespace
        self.pod = pod
        self.owner = owner
        self.name = pod if owner else USER

    def makeAccount(self):
        return self._make('v1', 'ServiceAccount', self.name)

    def makeSecret(self):
        """:return: a secret to which the cluster adds a token."""
        return self._make(
            'v1', 'Secret', self.name, {ACCOUNT_ANNOTATION: self.name},
            type=TOKEN)

    def makeRole(self):
        return self._make(
            'rbac.authorization.k8s.io/v1', 'Role', self._role,
            rules=list(self._getRules()))

    def makeRoleBinding(self):
        return self._make(
            'rbac.authorization.k8s.io/v1', 'RoleBinding', self._role,
            roleRef={'apiGroup': 'rbac.authorization.k8s.io',
                     'kind': 'Role', 'name': self._role},
            subjects=[{'kind': 'ServiceAccount', 'name': self.name,
                       'namespace': self.namespace}])

    @property
    def _role(self):
        if self.owner:
            return self.name
        return 'zuul-restricted' if self.pod else 'zuul'

    def _getRules(self):
        """:return: yields the same rules as in Zuul's driver."""
        if not self.pod:
            yield _makeRule(['apps'], ['deployments', 'replicasets'])
            yield _makeRule(['batch'], ['cronjobs', 'jobs'])
            yield _makeRule([''], [
                'pods', 'pods/exec', 'pods/log', 'pods/portforward',
                'pods/attach', 'services', 'endpoints', 'configmaps',
                'secrets'])
            return
        only = {'resourceNames': [self.pod]} if self.owner else {}
        yield _makeRule([''], ['pods'], ['get', 'list'], **only)
        yield _makeRule(
            [''], ['pods/exec', 'pods/log', 'pods/portforward'], **only)

    def _make(self, version, kind, name, annotations=None, **attributes):
        metadata = {'name': name}
        if annotations:
            metadata['annotations'] = annotations
        if self.owner:
            # The cluster deletes the object together with the pod.
            metadata['ownerReferences'] = [{
                'apiVersion': 'v1', 'kind': 'Pod', 'name': self.pod,
                'uid': self.owner['metadata']['uid']}]
        return {'apiVersion': version, 'kind': kind, 'metadata': metadata,
                **attributes}


def readToken(secret):
    """
    :param dict secret: as the API server returns it.
    :return: the token, and the certificate of the cluster as base64; None
        until the cluster has added them.
    """
    data = secret.get('data') or {}
    token, certificate = data.get('token'), data.get('ca.crt')
    if not token or not certificate:
        return None
    return base64.b64decode(token).decode(), certificate


def copySecret(secret):
    """
    :param dict secret: an image pull secret, as the API server returns it.
    :return: a copy for another namespace, where jobs can read it.
    :raises PermanentError: the secret has another type.
    """
    if secret['type'] not in PULL_SECRETS:
        metadata = secret['metadata']
        raise PermanentError(
            f'The secret {metadata["namespace"]}/{metadata["name"]} is not '
            'an image pull secret: its type must be '
            + ' or '.join(PULL_SECRETS))
    return {'apiVersion': 'v1', 'kind': 'Secret', 'type': secret['type'],
            'metadata': {'name': secret['metadata']['name']},
            'data': secret.get('data') or {}}


def _makeRule(groups, resources, verbs=ALL_VERBS, **attributes):
    return {'apiGroups': groups, 'resources': resources, 'verbs': verbs,
            **attributes}
