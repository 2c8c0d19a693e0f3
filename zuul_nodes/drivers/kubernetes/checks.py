"""Checks of the configuration of Kubernetes against the cluster."""

import functools

from zuul_nodes.drivers import Check, makeForLabels
from zuul_nodes.drivers.kubernetes import quota
from zuul_nodes.drivers.kubernetes.access import PULL_SECRETS
from zuul_nodes.drivers.kubernetes.errors import (
    Forbidden,
    Missing,
    describeRight,
)
from zuul_nodes.drivers.kubernetes.podspec import makeSpec
from zuul_nodes.drivers.kubernetes.quantities import (
    NAMES,
    getNeeds,
    parse,
)
from zuul_nodes.suggestions import suggest

RBAC = 'rbac.authorization.k8s.io'
PROJECTS = 'project.openshift.io'
# Permissions that nodes require: verb, resource, group.
FOR_ACCOUNTS = (
    ('create', 'serviceaccounts', ''), ('create', 'secrets', ''),
    ('get', 'secrets', ''), ('create', 'roles', RBAC),
    ('create', 'rolebindings', RBAC))
FOR_PODS = (('create', 'pods', ''), ('list', 'pods', ''))
FOR_SHARED_PODS = (
    *FOR_PODS, ('get', 'pods', ''), ('delete', 'pods', ''),
    ('list', 'resourcequotas', ''))
FOR_NAMESPACES = (
    ('create', 'namespaces', ''), ('get', 'namespaces', ''),
    ('list', 'namespaces', ''), ('delete', 'namespaces', ''))
FOR_PROJECTS = (('create', 'projectrequests', PROJECTS),
                ('list', 'projects', PROJECTS))


class Checks:
    """Creates the checks of a provider.

    :param KubernetesProvider provider: with the configuration.
    """

    def __init__(self, provider):
        self.provider = provider
        self.endpoint = provider.getEndpoint()

    def makeChecks(self):
        """:return: yields a :class:`Check` for each object that a label
            names."""
        config = self.endpoint.connection
        yield Check(
            'cluster', config.context or 'the current context',
            f'connection {config.connection_name}', self._askCluster,
            access=True)
        yield from makeForLabels(
            self.provider, lambda _, label: self._makeForLabel(label))

    def _makeForLabel(self, label):
        user = f'label {label.name}'
        for subject, name, ask, *args in self._find(label):
            yield Check(subject, name, user,
                        functools.partial(ask, *args), tuple(args))
        yield Check('quota', label.name, user, functools.partial(
            self._askQuota, label), self.provider.canonical_name)

    def _find(self, label):
        """:return: yields subject, name, method and its arguments."""
        namespace = label.namespace
        for verb, resource, group in self._getRights(label):
            where = f' in {namespace}' if namespace else ''
            yield ('permission', f'{verb} {resource}{where}', self._askRight,
                   verb, resource, group, namespace)
        for each in label.image_pull_secrets:
            place = namespace or each['namespace']
            yield ('image pull secret', f'{place}/{each["name"]}',
                   self._askSecret, place, each['name'])
        if label.kind == 'namespace':
            return
        spec = makeSpec(label)
        needs = tuple(sorted(getNeeds(spec).items()))
        if namespace:
            yield 'namespace', namespace, self._askNamespace, namespace
            if account := spec.get('serviceAccountName'):
                yield ('service account', f'{namespace}/{account}',
                       self._askName, 'listAccounts', account,
                       f'Namespace {namespace} has no service account',
                       namespace)
        for key, call, what in (
                ('priorityClassName', 'listPriorityClasses', 'priority'),
                ('runtimeClassName', 'listRuntimeClasses', 'runtime')):
            if name := spec.get(key):
                yield (f'{what} class', name, self._askName, call, name,
                       f'The cluster has no {what} class')
        selector = tuple(sorted((spec.get('nodeSelector') or {}).items()))
        if selector:
            yield ('node selector', _join(selector), self._askSelector,
                   selector)
        if needs:
            yield ('size', _join(needs), self._askSize, selector, needs)

    def _getRights(self, label):
        if label.namespace:
            return FOR_ACCOUNTS + FOR_SHARED_PODS
        if self.endpoint.connection.use_openshift_projects:
            # The creator of a project has all permissions in it.
            return FOR_PROJECTS
        return FOR_NAMESPACES + FOR_ACCOUNTS + (
            FOR_PODS if label.kind == 'pod' else ())

    def _call(self, name, *args):
        self.endpoint.startForChecks()
        return self.endpoint.calls.call(name, *args)

    # Each of the following methods returns a sentence with the problem, or an
    # empty string.

    def _askCluster(self):
        # Any user may ask for his own permissions.
        self._call('review', 'list', 'pods')
        return ''

    def _askRight(self, verb, resource, group, namespace):
        if self._call('review', verb, resource, group, namespace):
            return ''
        return describeRight(verb, resource, group, namespace)

    def _askNamespace(self, name):
        try:
            self._call('getProject' if self.endpoint.connection
                       .use_openshift_projects else 'getNamespace', name)
        except Forbidden:
            # Other checks cover the permissions in the namespace.
            return ''
        except Missing:
            names = [each.name for each in self._call(
                'listProjects' if self.endpoint.connection
                .use_openshift_projects else 'listNamespaces')]
            return _say('The cluster has no namespace', name, names)
        return ''

    def _askSecret(self, namespace, name):
        try:
            kind = self._call('getSecret', namespace, name).get('type')
        except Missing:
            return f'Namespace {namespace} has no secret "{name}"'
        if kind not in PULL_SECRETS:
            return (f'Secret "{name}" of namespace {namespace} has the type '
                    f'{kind}; for images it must have the type '
                    f'{PULL_SECRETS[0]}')
        return ''

    def _askName(self, call, name, sentence, *args):
        names = [each['metadata']['name']
                 for each in self._call(call, *args)]
        return '' if name in names else _say(sentence, name, names)

    def _askQuota(self, label):
        """:return: a sentence for each resource of which one node needs too
            much."""
        needs = self.provider.getQuotaForLabel(label).getResources()
        return '; '.join(
            f'One node needs {needs[resource]:g} of "{resource}", but '
            f'{allows} {limit:g}'
            for allows, limits in self._getLimits(label.namespace)
            for resource, limit in limits.items()
            if needs.get(resource, 0) > limit)

    def _getLimits(self, namespace):
        """:return: yields a description of each source of limits, and the
            limits."""
        yield ('"resource-limits" of the provider allow',
               self.provider.resource_limits)
        if namespace:
            for each in self._call('listQuotas', namespace):
                yield (f'quota {each["metadata"]["name"]} of namespace '
                       f'{namespace} allows',
                       quota.qualify(namespace, quota.read([each])))

    def _askSelector(self, selector):
        nodes = list(self._getNodes())
        if any(_fits(node, selector) for node in nodes):
            return ''
        key, value = next((
            (key, value) for key, value in selector
            if not any(_fits(node, [(key, value)]) for node in nodes)),
            selector[0])
        there = {(node['metadata'].get('labels') or {}).get(key)
                 for node in nodes} - {None}
        if value in there:
            return 'No machine of the cluster has all of these labels'
        return _say('No machine of the cluster has the label',
                    f'{key}={value}', [f'{key}={each}' for each in there])

    def _askSize(self, selector, needs):
        largest = {}
        for node in self._getNodes():
            if not _fits(node, selector):
                continue
            has = _convert(node['status'].get('allocatable') or {})
            if all(has.get(name, 0) >= amount for name, amount in needs):
                return ''
            for name, amount in has.items():
                largest[name] = max(largest.get(name, 0), amount)
        if not largest:
            return 'The cluster has no machine for it'
        return ('No machine of the cluster is large enough; the largest '
                'amounts are '
                + _join((name, f'{largest.get(name, 0):g}')
                        for name, _ in needs))

    def _getNodes(self):
        return [node for node in self._call('listNodes')
                if not (node.get('spec') or {}).get('unschedulable')]


def _say(sentence, name, names):
    """:return: a sentence that the name does not exist, with suggestions."""
    return f'{sentence} "{name}". {suggest(name, names)}'


def _fits(node, selector):
    return dict(selector).items() <= (
        node['metadata'].get('labels') or {}).items()


def _convert(amounts):
    """
    :param dict amounts: of a machine, in the format of Kubernetes.
    :return: the amounts as numbers, by Zuul's names.
    """
    found = {}
    for resource, amount in amounts.items():
        name, unit = NAMES.get(resource, (resource, 1))
        found['gpu' if 'gpu' in resource else name] = float(
            parse(amount) / unit)
    return found


def _join(pairs):
    return ', '.join(f'{key}={value}' for key, value in pairs)
