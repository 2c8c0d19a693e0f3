"""Limits of regions, and what counts for them."""

from google.cloud import compute_v1
import pytest

from tests.unit.drivers.gce.sites import change
from zuul_nodes.drivers import QuotaError, TemporaryError
from zuul_nodes.drivers.gce.metrics import KNOWN, getGpus, getPreemptible

LOCAL_SSD = {'type': 'SCRATCH', 'diskSizeGb': '375'}


def makeFlavor(makeSite, flavor, disk='pd-balanced'):
    """:return: a site whose label "debian" has that flavor."""
    return makeSite(change('machine-type: e2-standard-2', flavor).replace(
        'pd-balanced', disk))


def test_limits(gce, site):
    gce.quota.regional.update(CPUS=24, INSTANCES=5, NVIDIA_L4_GPUS=0)
    gce.quota.overall.update(CPUS_ALL_REGIONS=100)
    assert site.adapter.getLimits() == {
        'instances': 5, 'cores': 100, 'CPUS': 24, 'N2_CPUS': 1000,
        'N2D_CPUS': 1000, 'C3_CPUS': 1000, 'NVIDIA_T4_GPUS': 16,
        'NVIDIA_L4_GPUS': 0, 'GPUS_ALL_REGIONS': 16,
        'DISKS_TOTAL_GB': 100000, 'SSD_TOTAL_GB': 100000,
        'HDB_TOTAL_GB': 100000, 'LOCAL_SSD_TOTAL_GB': 100000,
        'IN_USE_ADDRESSES': 1000}


@pytest.mark.parametrize('flavor, disk, needs', [
    ('machine-type: n2-standard-2', 'pd-ssd',
     {'N2_CPUS': 2, 'SSD_TOTAL_GB': 40}),
    ('machine-type: c3-standard-4', 'hyperdisk-balanced',
     {'C3_CPUS': 4, 'HDB_TOTAL_GB': 40}),
    ('machine-type: c3-standard-8-lssd', 'pd-balanced',
     {'C3_CPUS': 8, 'C3_LOCAL_SSD_TOTAL_GB': 750, 'SSD_TOTAL_GB': 40}),
    ('machine-type: c4-standard-4', 'hyperdisk-balanced',
     {'C4_CPUS': 4, 'HDB_TOTAL_GB': 40}),
    ('machine-type: g2-standard-8', 'pd-balanced',
     {'G2_CPUS': 8, 'NVIDIA_L4_GPUS': 1, 'GPUS_ALL_REGIONS': 1,
      'SSD_TOTAL_GB': 40}),
    ('machine-type: n1-standard-2\n        '
     'accelerators: {type: nvidia-tesla-t4, count: 2}', 'pd-standard',
     {'CPUS': 2, 'NVIDIA_T4_GPUS': 2, 'GPUS_ALL_REGIONS': 2,
      'DISKS_TOTAL_GB': 40}),
])
def test_what_an_instance_takes(gce, makeSite, flavor, disk, needs):
    """It is reckoned with that before, and it counts for it afterwards."""
    site = makeFlavor(makeSite, flavor, disk)
    reckoned = site.adapter.getNeeds(site.makeSpec())
    common = {name: reckoned.pop(name) for name in (
        'instances', 'cores', 'ram', 'IN_USE_ADDRESSES')}
    assert reckoned == needs
    assert site.create().needs == reckoned | common
    # Google counts it in the same way, as far as it tells of it.
    used = gce.quota.getUsed('zuul', 'us-central1')
    told = {name for name in needs if name in (
        gce.quota.regional | gce.quota.overall)}
    assert told
    assert {name: used[name] for name in told} == {
        name: needs[name] for name in told}


@pytest.mark.parametrize('gpu', [
    'nvidia-tesla-t4', 'nvidia-tesla-v100', 'nvidia-tesla-a100',
    'nvidia-a100-80gb', 'nvidia-l4', 'nvidia-h100-80gb',
    'nvidia-tesla-p4-vws'])
def test_quotas_of_gpus_are_called_as_google_calls_them(gpu):
    metric = getPreemptible(getGpus(gpu))
    assert metric in compute_v1.Quota.Metric.__members__
    assert KNOWN.fullmatch(metric)


@pytest.mark.parametrize('limit, metrics', [
    (0, {'CPUS': 2, 'NVIDIA_T4_GPUS': 1}),
    (16, {'PREEMPTIBLE_CPUS': 2, 'PREEMPTIBLE_NVIDIA_T4_GPUS': 1})])
def test_spot_may_have_limits_of_its_own(gce, makeSite, limit, metrics):
    gce.quota.regional.update(
        PREEMPTIBLE_CPUS=limit, PREEMPTIBLE_NVIDIA_T4_GPUS=limit)
    site = makeFlavor(makeSite, '''machine-type: n1-standard-2
        market-type: spot
        accelerators: {type: nvidia-tesla-t4}''')
    needs = site.adapter.getNeeds(site.makeSpec())
    assert needs == {
        'instances': 1, 'cores': 2, 'ram': 7680, 'GPUS_ALL_REGIONS': 1,
        'SSD_TOTAL_GB': 40, 'IN_USE_ADDRESSES': 1, **metrics}
    assert site.create().needs == needs
    limits = site.adapter.getLimits()
    assert ('PREEMPTIBLE_CPUS' in limits) == bool(limit)
    assert ('PREEMPTIBLE_NVIDIA_T4_GPUS' in limits) == bool(limit)


@pytest.mark.parametrize('is_spot, metric', [
    (False, 'LOCAL_SSD_TOTAL_GB'), (True, 'PREEMPTIBLE_LOCAL_SSD_GB')])
def test_local_ssds_of_others(gce, site, is_spot, metric):
    gce.quota.regional['PREEMPTIBLE_LOCAL_SSD_GB'] = 1000
    created = site.create()
    instance = gce.instances['np0001']
    instance['disks'] = [*instance['disks'], LOCAL_SSD, LOCAL_SSD]
    instance['scheduling']['preemptible'] = is_spot
    needs = site.list()[created.id].needs
    assert (needs[metric], needs['SSD_TOTAL_GB']) == (750, 40)


def test_quota_is_exceeded(gce, site):
    gce.quota.regional['CPUS'] = 1
    with pytest.raises(QuotaError, match="'CPUS' exceeded"):
        site.adapter.createInstance(site.makeSpec())
    assert not site.list()


def test_quota_that_no_region_tells(gce, makeSite):
    site = makeFlavor(
        makeSite, 'machine-type: c4-standard-4', 'hyperdisk-balanced')
    gce.quota.families['C4'] = 7
    site.create()
    assert 'C4_CPUS' not in site.adapter.getLimits()
    with pytest.raises(QuotaError, match="'CPUS_PER_VM_FAMILY' exceeded"):
        site.adapter.createInstance(site.makeSpec('0002'))


def test_limits_of_all_regions(gce, site, makeSite):
    """What other regions use is not there for this one; what it uses itself
    the launcher counts."""
    gce.quota.overall.update(CPUS_ALL_REGIONS=10, GPUS_ALL_REGIONS=4)
    other = makeSite(change('us-central1', 'europe-west1').replace(
        'e2-standard-2', '''n1-standard-4
        accelerators: {type: nvidia-tesla-t4}'''))
    other.create('0001', zone='europe-west1-b')
    site.create('0002', zone='us-central1-f')
    limits = site.adapter.getLimits()
    assert (limits['cores'], limits['GPUS_ALL_REGIONS']) == (6, 3)
    limits = other.adapter.getLimits()
    assert (limits['cores'], limits['GPUS_ALL_REGIONS']) == (8, 4)
    for number in ('0003', '0004'):
        site.create(number)
    with pytest.raises(QuotaError, match='globally'):
        site.adapter.createInstance(site.makeSpec('0005'))
    limits = site.adapter.getLimits()
    used = sum(each.needs['cores'] for each in site.list().values())
    assert limits['cores'] == used == 6


def test_quotas_that_are_not_told_stay_as_they_were(gce, site):
    limits = site.adapter.getLimits()
    gce.quota.hidden = {'CPUS', 'SSD_TOTAL_GB', 'INSTANCES'}
    gce.quota.regional['N2_CPUS'] = 7
    assert site.adapter.getLimits() == limits | {'N2_CPUS': 7}
    gce.quota.hidden = {*gce.quota.regional}
    assert site.adapter.getLimits() == limits | {'N2_CPUS': 7}


def test_no_limits_are_better_than_some(gce, site):
    """The launcher keeps to those that another one has been told."""
    gce.quota.hidden = {'CPUS'}
    with pytest.raises(TemporaryError, match='quotas of us-central1'):
        site.adapter.getLimits()
    # So are they for what is remembered of spot instances.
    with pytest.raises(TemporaryError, match='quotas of us-central1'):
        site.adapter.getNeeds(site.makeSpec(label='built'))
    created = site.create(
        label='built', image_id='projects/debian-cloud/global/images/'
        'debian-12-bookworm-v1')
    assert site.list()[created.id].needs['N2_CPUS'] == 8
    gce.quota.hidden = set()
    assert site.adapter.getLimits()['CPUS'] == 1000
    assert site.adapter.getNeeds(site.makeSpec(label='built'))['cores'] == 8
