"""Names of resources are data, and no arguments of what counts them."""

import inspect

import pytest
from zuul.model import QuotaInformation

from tests.unit.drivers.kubernetes.sites import load, write
from zuul_nodes.launcher.providers.quota import getLeft, makeQuota

NAMES = list(inspect.signature(QuotaInformation.__init__).parameters)
SPEC = ('kind: pod, spec: {{containers: [{{name: a, image: a, resources: '
        '{{limits: {{{name}: 3, cpu: 2, example.com/a: 4}}}}}}]}}')


def test_limits_of_any_name_limit_what_has_that_name():
    assert {'self', 'default'} <= set(NAMES)
    limits = dict.fromkeys(NAMES, 3) | {'instances': 2}
    quota = makeQuota(limits)
    assert (quota.quota, quota.default) == (limits, float('inf'))
    assert getLeft(limits, [QuotaInformation(instances=1)]).quota == (
        limits | {'instances': 1})


@pytest.mark.parametrize('name', [*NAMES, 'pods', 'namespaces'])
@pytest.mark.parametrize('namespace', ['', ', namespace: ci'])
def test_a_pod_asks_for_what_a_cluster_can_have(name, namespace):
    provider = load(write(SPEC.format(name=name) + namespace))
    label, = provider.labels.values()
    needs = provider.getQuotaForLabel(label)
    assert needs.default == 0
    needs = needs.quota
    assert (needs['pods'], needs['cores'], needs['example.com/a']) == (
        1, 2, 4)
    assert name not in needs or needs[name] == 1
    # As it is in the record of a node.
    assert QuotaInformation(**needs).quota == needs
