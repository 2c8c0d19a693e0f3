"""What a cloud is asked about a configuration."""

import io
import re

import pytest

from tests.emulators.openstack import OpenStack
from tests.fixtures.ending import endWith
from tests.unit.drivers.openstack.nodesites import change
from zuul_nodes.cmd.check.asking import ask as askAll


def ask(nodes):
    """:return: (subject, name) -> what is wrong, but for what is right."""
    return {(check.subject, check.name): said
            for check in nodes.provider.getChecks() if (said := check.ask())}


def test_nothing_is_wrong(nodes, cloud):
    checks = list(nodes.provider.getChecks())
    # Nothing has been asked yet.
    assert cloud.calls == []
    assert [check for check in checks if check.ask()] == []
    assert {check.subject for check in checks} == {
        'cloud', 'permission', 'image', 'flavor', 'network',
        'security group', 'key', 'zone', 'volume type', 'server group',
        'metadata', 'disk', 'quota'}


@pytest.fixture
def askRegion(makeNodes, cloud, clouds_yaml):
    """:return: a function that asks about a region, and gives what is wrong
        with it."""
    def run(region, **settings):
        # By default, openstacksdk refuses all but the one region.
        cloud.writeConfig(
            clouds_yaml, regions=['RegionOne', 'RegionTwo'], **settings)
        nodes = makeNodes(change(
            '    connection: openstack\n',
            f'    connection: openstack\n    region: {region}\n'))
        check, = [check for check in nodes.provider.getChecks()
                  if check.subject == 'region']
        assert check.access
        return check.ask()
    return run


@pytest.fixture
def otherCloud(request):
    return endWith(request, OpenStack())


def test_region(askRegion, cloud, otherCloud):
    assert askRegion('RegionOne') == ''
    cloud.keystone.addRegion('RegionTwo', otherCloud)
    assert askRegion('RegionTwo') == ''


def test_region_without_servers(askRegion, cloud, otherCloud):
    missing = ('There is no compute service in the region "RegionTwo". Did '
               'you mean "RegionOne"?')
    assert askRegion('RegionTwo') == missing
    otherCloud.services = [otherCloud.glance]
    cloud.keystone.addRegion('RegionTwo', otherCloud)
    assert askRegion('RegionTwo') == missing


def test_region_that_other_settings_give_a_service(askRegion, cloud):
    assert askRegion(
        'RegionTwo', compute_endpoint_override=cloud.nova.url) == ''
    assert askRegion('RegionTwo', compute_region_name='RegionOne') == ''


def test_region_whose_services_are_not_for_users(askRegion):
    assert askRegion('RegionOne', compute_interface='admin') == (
        'There is no compute service in the region "RegionOne". There are '
        'none.')


def test_all_else_is_asked_of_a_region(makeNodes, cloud):
    nodes = makeNodes(change(
        '    connection: openstack\n',
        '    connection: openstack\n    region: RegionOne\n'))
    report = askAll([nodes.provider], 60, io.StringIO())
    assert not report.errors
    assert not report.left_out
    assert [each.what for each in report.results if each.problem] == []
    assert [each.what for each in report.results[:3]] == [
        'cloud', 'region', 'permission']


def test_each_name_is_asked_once(nodes):
    checks = [check for check in nodes.provider.getChecks()
              if (check.subject, check.name) == ('network', 'private')]
    assert {check.used_by for check in checks} == {
        'label debian', 'label lab'}
    assert len({check.question for check in checks}) == 1


@pytest.mark.parametrize(('old', 'new', 'subject', 'message'), [
    ('debian-12', 'debian-13', 'image', 'no active image .*mean "debian-12"'),
    ('image-name: debian-12\n        image-filters: {visibility: public}',
     'image-id: nothing', 'image', 'no image with the id "nothing"'),
    ('m1.small', 'm1.smal', 'flavor', 'mean "m1.small"'),
    ('min-ram: 4000', 'min-ram: 9000', 'flavor', 'with 9000 MiB'),
    ('networks: [private]', 'networks: [privat]', 'network',
     'mean "private"'),
    ('- private\n', '- privat\n', 'network', 'mean "private"'),
    ('floating-network: public', 'floating-network: lab', 'network',
     'not external.*are: "public"'),
    ('[default]', '[defaults]', 'security group', 'mean "default"'),
    ('key-name: zuul', 'key-name: zul', 'key', 'mean "zuul"'),
    ('[east, west]', '[east, south]', 'zone', 'are: "east"'),
    ('volume-type: fast', 'volume-type: fas', 'volume type', 'mean "fast"'),
    ('server-group: apart', 'server-group: part', 'server group',
     'mean "apart"'),
])
def test_what_is_missing(makeNodes, old, new, subject, message):
    wrong = ask(makeNodes(change(old, new)))
    said = [text for (what, _), text in wrong.items() if what == subject]
    assert said
    assert re.search(message, said[0])


def test_sizes(makeNodes, cloud):
    cloud.glance.images['new']['min_disk'] = 30
    wrong = ask(makeNodes())
    assert list(wrong) == [('disk', 'debian')]
    assert '30 GB' in wrong['disk', 'debian']


def test_memory(makeNodes, cloud):
    cloud.glance.images['new']['min_ram'] = 4000
    assert 'needs 4000 MiB of RAM, but the flavor "m1.small" has 2048' in (
        ask(makeNodes())['disk', 'debian'])


def test_image_that_is_not_active(makeNodes):
    nodes = makeNodes(change(
        'image-name: debian-12\n        image-filters: {visibility: public}',
        'image-id: newest'))
    assert ask(nodes)['image', 'newest'] == (
        'The image "debian-12" (newest) has the status "queued". Use an '
        'active image')


def test_quota(nodes, cloud):
    cloud.nova.limits['cores'] = 1
    assert {key: 'needs 2 cores, but the limit is 1' in said
            for key, said in ask(nodes).items()} == {('quota', 'lab'): True}


def test_limits_of_the_provider(makeNodes):
    nodes = makeNodes(change(
        '    label-defaults:',
        '    resource-limits: {ram: 3000}\n    label-defaults:'))
    assert list(ask(nodes)) == [('quota', 'lab')]


def test_permission(nodes, cloud):
    cloud.inject('GET', '/network/v2.0/networks', 403, 'not for you',
                 times=1)
    check, = [check for check in nodes.provider.getChecks()
              if check.name == 'list networks']
    assert 'not for you' in check.ask()


def test_wrong_password(makeNodes, cloud, clouds_yaml):
    secret = cloud.keystone.users['zuul']['password']
    clouds_yaml.write_text(
        clouds_yaml.read_text().replace(secret, 'another-secret'))
    nodes = makeNodes()
    check = next(iter(nodes.provider.getChecks()))
    said = check.ask()
    assert 'requires authentication' in said
    assert 'another-secret' not in said
