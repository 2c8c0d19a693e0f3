"""What the emulated API server refuses, and what it adds."""

import base64
import re

from tests.emulators.kubernetes.store import refuse

DNS = r'[a-z0-9]([-a-z0-9]*[a-z0-9])?'
NAME = re.compile(rf'(?=.{{1,63}}\Z){DNS}')
# Names of most things may have dots, and those of rights nearly all.
LONG_NAME = re.compile(rf'(?=.{{1,253}}\Z){DNS}(\.{DNS})*')
PATH_NAME = re.compile(r'(?!\.\.?\Z)[^/%]+')
WORD = r'[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
LABEL = re.compile(f'({WORD})?')
KEY = re.compile(rf'((?=[^/]{{1,253}}/){DNS}(\.{DNS})*/)?{WORD}')
PATTERNS = {'namespaces': NAME, 'projectrequests': NAME,
            'roles': PATH_NAME, 'rolebindings': PATH_NAME}
# Bytes of all annotations of a thing.
ANNOTATIONS = 256 * 1024
UNITS = {'m': 0.001, 'k': 10**3, 'M': 10**6, 'G': 10**9, 'T': 10**12,
         'Ki': 2**10, 'Mi': 2**20, 'Gi': 2**30, 'Ti': 2**40}
FINISHED = ('Succeeded', 'Failed')
ACCOUNT_TOKEN = 'kubernetes.io/service-account-token'
ACCOUNT = 'kubernetes.io/service-account.name'


def check(resource, thing):
    """
    :raises Refusal: an object is not as it has to be.
    """
    meta = thing.get('metadata') or {}
    name = meta.get('name', '')
    errors = []
    if not PATTERNS.get(resource, LONG_NAME).fullmatch(name):
        errors.append(('metadata.name', name))
    for kind in 'labels', 'annotations':
        pairs = (meta.get(kind) or {}).items()
        errors += [(f'metadata.{kind}', key) for key, _ in pairs
                   if not KEY.fullmatch(key)]
        if not all(isinstance(value, str) for _, value in pairs):
            raise refuse(400, f'{resource} in version "v1" cannot be '
                         'handled: ReadString: expects " or n')
    errors += [('metadata.labels', value)
               for value in (meta.get('labels') or {}).values()
               if not LABEL.fullmatch(value)]
    if sum(len(each.encode(errors='replace')) for pair in (
            meta.get('annotations') or {}).items()
           for each in pair) > ANNOTATIONS:
        errors.append(('metadata.annotations', 'Too long'))
    if resource == 'pods':
        errors += _findWrongContainers((thing.get('spec') or {}).get(
            'containers') or ())
    if errors:
        told = ', '.join(f'{path}: Invalid value: "{value}"'
                         for path, value in errors)
        raise refuse(
            422, f'{resource} "{name}" is invalid: {told}', name=name,
            kind=resource, causes=[{'field': path} for path, _ in errors])


def _findWrongContainers(containers):
    """:return: yields paths, and what is wrong there."""
    if not containers:
        yield 'spec.containers', 'Required value'
    names = [container.get('name') or '' for container in containers]
    for number, (container, name) in enumerate(
            zip(containers, names, strict=True)):
        path = f'spec.containers[{number}]'
        if not NAME.fullmatch(name) or name in names[:number]:
            yield f'{path}.name', name
        if not container.get('image'):
            yield f'{path}.image', 'Required value'


def admit(store, resource, namespace, thing):
    """Add what objects have if nothing else is said.

    :raises Refusal: a new object may not be.
    """
    if resource == 'namespaces':
        thing['spec'] = {'finalizers': ['kubernetes']}
        thing['status'] = {'phase': 'Active'}
    elif resource == 'pods':
        thing['metadata']['namespace'] = namespace
        _completePod(thing)
        _checkAccount(store, thing)
        _checkQuota(store, thing)
    elif resource == 'secrets':
        thing.setdefault('type', 'Opaque')
        for key, text in thing.pop('stringData', {}).items():
            thing.setdefault('data', {})[key] = base64.b64encode(
                text.encode()).decode()
        _checkSecret(thing)


def checkPlace(store, resource, namespace, name):
    """
    :raises Refusal: there is nothing new in a namespace.
    """
    place = store.find('namespaces', None, namespace)
    if place['status']['phase'] == 'Terminating':
        raise refuse(
            403, f'{resource} "{name}" is forbidden: unable to create new '
            f'content in namespace {namespace} because it is being '
            'terminated', name=name, kind=resource, causes=[{
                'reason': 'NamespaceTerminating',
                'message': f'namespace {namespace} is being terminated',
                'field': 'metadata.namespace'}])


def _completePod(pod):
    spec = pod['spec']
    for key, value in (('restartPolicy', 'Always'),
                       ('terminationGracePeriodSeconds', 30),
                       ('serviceAccountName', 'default'),
                       ('schedulerName', 'default-scheduler')):
        spec.setdefault(key, value)
    for container in (*spec['containers'], *spec.get('initContainers', ())):
        resources = container.setdefault('resources', {})
        for kind, amounts in resources.items():
            # They may be given as numbers.
            resources[kind] = {key: str(amount)
                               for key, amount in (amounts or {}).items()}
        if limits := resources.get('limits'):
            resources['requests'] = {
                **limits, **(resources.get('requests') or {})}
    pod['status'] = {'phase': 'Pending', 'qosClass': 'BestEffort'}


def _checkAccount(store, pod):
    meta, account = pod['metadata'], pod['spec']['serviceAccountName']
    if not store.get('serviceaccounts', meta['namespace'], account):
        raise refuse(
            403, f'pods "{meta["name"]}" is forbidden: error looking up '
            f'service account {meta["namespace"]}/{account}: serviceaccount '
            f'"{account}" not found', kind='pods')


def _checkSecret(secret):
    if secret['type'] == ACCOUNT_TOKEN and ACCOUNT not in (
            secret['metadata'].get('annotations') or {}):
        name = secret['metadata']['name']
        raise refuse(
            422, f'Secret "{name}" is invalid: metadata.annotations'
            f'[{ACCOUNT}]: Required value', name=name, kind='Secret')


def _checkQuota(store, pod):
    meta = pod['metadata']
    for quota in store.list('resourcequotas', meta['namespace']):
        hard = (quota.get('spec') or {}).get('hard') or {}
        wanted = measure(pod)
        name = quota['metadata']['name']
        missing = [key for key in hard if key not in wanted
                   and key.split('.')[-1] in ('cpu', 'memory')]
        if missing:
            raise refuse(403, f'pods "{meta["name"]}" is forbidden: failed '
                         f'quota: {name}: must specify '
                         + ','.join(sorted(missing)),
                         name=meta['name'], kind='pods')
        used = getUsed(store, meta['namespace'])
        over = [key for key in hard if key in wanted
                and used.get(key, 0) + wanted[key] > parse(hard[key])]
        if over:
            raise refuse(
                403, f'pods "{meta["name"]}" is forbidden: exceeded quota: '
                f'{name}, requested: {_tell(over, wanted)}, used: '
                f'{_tell(over, used)}, limited: '
                + ','.join(f'{key}={hard[key]}' for key in sorted(over)),
                name=meta['name'], kind='pods')


def _tell(names, amounts):
    return ','.join(f'{name}={_write(amounts.get(name, 0))}'
                    for name in sorted(names))


def _write(amount):
    """:return: text for a number."""
    return f'{amount:.0f}' if amount == int(amount) else (
        f'{amount * 1000:.0f}m')


def measureQuota(store, quota):
    """:return: the status of a ResourceQuota."""
    used = getUsed(store, quota['metadata']['namespace'])
    hard = quota['spec']['hard']
    return {'hard': hard,
            'used': {name: _write(used.get(name, 0)) for name in hard}}


def getUsed(store, namespace):
    """:return: what pods use of quota."""
    used = {}
    for pod in store.list('pods', namespace):
        for key, amount in measure(pod).items():
            used[key] = used.get(key, 0) + amount
    return used


def measure(pod):
    """:return: what a pod takes of quota, name -> amount."""
    amounts = {'count/pods': 1}
    if pod['status'].get('phase') in FINISHED:
        return amounts
    amounts['pods'] = 1
    for container in pod['spec']['containers']:
        for name, amount in _measureContainer(container):
            amounts[name] = amounts.get(name, 0) + amount
    # They run one after the other, before those.
    for container in pod['spec'].get('initContainers') or ():
        for name, amount in _measureContainer(container):
            amounts[name] = max(amounts.get(name, 0), amount)
    return amounts


def _measureContainer(container):
    for what, given in container['resources'].items():
        for resource, amount in (given or {}).items():
            yield f'{what}.{resource}', parse(amount)
            if what == 'requests':
                yield resource, parse(amount)


def parse(quantity):
    """:return: a number."""
    number, unit = re.fullmatch(r'([\d.]+)(\w*)', str(quantity)).groups()
    return float(number) * UNITS.get(unit, 1)
