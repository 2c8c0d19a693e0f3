"""The regions of the cloud, and the layouts of the tenants."""

import json

CORES = {'small': 1, 'large': 3, 'solo': 1}
# East creates whatever it is asked for, and so shows who asks for too much.
# West refuses that, and gives two instances for two calls.
REGIONS = {
    'east': {'limits': {'instances': 8, 'cores': 12}, 'keeps_limits': False,
             'unique': True},
    'west': {'limits': {'instances': 5, 'cores': 8}, 'keeps_limits': True,
             'unique': False},
}
# Provider -> its region, its own limit of instances and its labels
PROVIDERS = {
    'east-main': ('east', 5, ('small', 'large')),
    'east-solo': ('east', 3, ('solo',)),
    'west-main': ('west', 4, ('small', 'large')),
}
# The labels that only one provider has.
SOLE_LABELS = {'solo'}
TENANTS = ('red', 'green', 'blue')
MIN_READY = 1
# Seconds for which a node may have two instances: two rounds of the clean-up,
# and the longest fault of the one who cleans up.
DUPLICATE = 60
# The labels of a request, and how often it is made.
SHAPES = {('small',): 40, ('small',) * 2: 15, ('small',) * 4: 6,
          ('large',): 12, ('large',) * 2: 3, ('small', 'large'): 4,
          ('solo',): 12, ('solo',) * 2: 4, ('solo',) * 3: 4}


def makeLayout(max_ready_age=0):
    """
    :param int max_ready_age: seconds; another one is another definition.
    :return: what all tenants have.
    """
    text = '- image: {name: debian, type: cloud}\n'
    for label, cores in CORES.items():
        min_ready = MIN_READY if label == 'small' else 0
        text += (
            f'- flavor: {{name: {label}, cores: {cores}}}\n'
            f'- label: {{name: {label}, image: debian, flavor: {label}, '
            f'min-ready: {min_ready}, max-ready-age: {max_ready_age}}}\n')
    for region in REGIONS:
        text += (
            f'- section: {{name: {region}, connection: {region}, '
            f'images: [debian], flavors: {json.dumps(list(CORES))}, '
            'label-defaults: {host-key-checking: false}}\n')
    for name, (region, limit, labels) in PROVIDERS.items():
        text += (
            f'- provider: {{name: {name}, section: {region}, '
            f'labels: {json.dumps(labels)}, launch-timeout: 60, '
            f'resource-limits: {{instances: {limit}}}}}\n')
    return text


def getUsage(provider, labels):
    """:return: what nodes of a provider use, with keys of
        :func:`getLimits`."""
    region, _, _ = PROVIDERS[provider]
    return {(region, None, 'instances'): len(labels),
            (region, None, 'cores'): sum(map(CORES.get, labels)),
            (region, provider, 'instances'): len(labels)}


def getLimits():
    """:return: (region, provider or None, resource) -> limit."""
    limits = {(region, None, resource): limit
              for region, options in REGIONS.items()
              for resource, limit in options['limits'].items()}
    return limits | {(region, name, 'instances'): limit
                     for name, (region, limit, _) in PROVIDERS.items()}
