"""What the emulated cluster does by itself when objects come and go."""

import base64
import copy
import uuid

from tests.emulators.kubernetes.admission import ACCOUNT, ACCOUNT_TOKEN
from tests.emulators.kubernetes.rights import makeUser
from tests.emulators.kubernetes.store import now

CERTIFICATE = b'the certificate of the cluster'


class Controllers:
    """The controllers of namespaces, accounts and their tokens, and the
    collector of garbage.

    :param Store store:
    :param Rights rights:
    :ivar bool token_secrets: whether each service account gets a secret with
        a token, as before Kubernetes 1.24.  Those that are asked for by
        their annotation are filled by all versions.
    :ivar bool fills_secrets: whether the controller of tokens works.
    """

    def __init__(self, store, rights):
        self._store = store
        self._rights = rights
        self.token_secrets = True
        self.fills_secrets = True
        store.removed = self._clean

    def react(self, resource, thing):
        """Do what there is to do with a new object."""
        meta = thing['metadata']
        namespace, name = meta.get('namespace'), meta['name']
        if resource == 'namespaces':
            self._add('serviceaccounts', name, {
                'metadata': {'name': 'default'}})
        elif resource == 'serviceaccounts' and self.token_secrets:
            secret = f'{name}-token-{uuid.uuid4().hex[:5]}'
            self._add('secrets', namespace, {
                'type': ACCOUNT_TOKEN, 'metadata': {
                    'name': secret, 'annotations': {ACCOUNT: name}}})
            self._store.replace(
                resource, {**thing, 'secrets': [{'name': secret}]})
        elif resource == 'secrets' and self.fills_secrets:
            self._fill(namespace, thing)
        owners = meta.get('ownerReferences')
        if owners and not {owner['uid'] for owner in owners} & {
                other['metadata']['uid'] for place in (namespace, None)
                for _, other in self._store.listIn(place)}:
            self._store.delete(resource, self._store.get(
                resource, namespace, name))

    def _add(self, resource, namespace, thing):
        self.react(resource, self._store.add(resource, namespace, thing))

    def _fill(self, namespace, secret):
        if secret['type'] != ACCOUNT_TOKEN:
            return
        account = _getAccount(secret)
        if self._store.get('serviceaccounts', namespace, account):
            data = {'token': self._rights.makeToken(
                        makeUser(namespace, account)).encode(),
                    'ca.crt': CERTIFICATE, 'namespace': namespace.encode()}
            self._store.replace('secrets', {**secret, 'data': {
                key: base64.b64encode(value).decode()
                for key, value in data.items()}})

    def _clean(self, resource, thing):
        """Remove what belongs to an object that is gone."""
        meta = thing['metadata']
        for kind, other in self._store.listIn(meta.get('namespace')):
            is_owned = any(owner['uid'] == meta['uid'] for owner
                           in other['metadata'].get('ownerReferences') or ())
            if is_owned or (
                    resource == 'serviceaccounts' and kind == 'secrets'
                    and other['type'] == ACCOUNT_TOKEN
                    and _getAccount(other) == meta['name']):
                self._store.delete(kind, other)

    def terminate(self, place):
        """Begin with the end of a namespace."""
        name = place['metadata']['name']
        if place['status']['phase'] != 'Terminating':
            place = copy.deepcopy(place)
            place['metadata']['deletionTimestamp'] = now()
            place['status'] = {'phase': 'Terminating'}
            self._store.replace('namespaces', place)
            for kind, other in self._store.listIn(name):
                self._store.delete(kind, other)
        self.finish(name)

    def finish(self, name):
        """Remove a namespace if it is to end and nothing is in it."""
        place = self._store.get('namespaces', None, name)
        if place and place['status']['phase'] == 'Terminating' and (
                not self._store.listIn(name)):
            self._store.remove('namespaces', place)


def _getAccount(secret):
    return secret['metadata']['annotations'][ACCOUNT]
