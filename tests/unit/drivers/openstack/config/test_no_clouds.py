"""A process without clouds.yaml, as a scheduler may be, or with the wrong
password."""

import pytest

from tests.unit.drivers.openstack.sites import getConnection, getProvider
from zuul_nodes.drivers import LoginError
from zuul_nodes.launcher.providers import isLoginRefused

IMAGES = '''
- image: {name: debian, type: cloud}
- image: {name: own, type: zuul}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
- section:
    name: cloud
    connection: cloud
    images:
      - {name: debian, image-id: base}
    flavors: [{name: small, flavor-name: m1.small}]
- provider: {name: cloud, section: cloud, labels: [debian]}
'''


@pytest.mark.parametrize('more', [
    '', '      - {name: own, image-format: raw}\n'])
def test_it_reads_providers_but_cannot_log_in(zk_client, clouds_yaml, more):
    provider = getProvider(
        zk_client, getConnection('missing'),
        IMAGES.replace('    flavors:', more + '    flavors:'))
    assert provider.images['debian'].image_id == 'base'
    with pytest.raises(Exception, match='missing') as caught:
        provider.getEndpoint().start()
    assert isLoginRefused(caught.value)


def test_it_does_not_know_the_format_of_images_to_build(
        zk_client, clouds_yaml):
    with pytest.raises(Exception, match='missing'):
        getProvider(
            zk_client, getConnection('missing'), IMAGES.replace(
                '    flavors:', '      - {name: own}\n    flavors:'))


def test_a_password_that_is_wrong_is_a_refused_log_in(nodes, cloud):
    """Also for a client that was logged in before."""
    listing = nodes.endpoint.listing
    assert listing.getNow() == []
    cloud.keystone.users['zuul']['password'] = 'another'
    cloud.keystone.tokens.clear()
    with pytest.raises(LoginError) as caught:
        listing.getNow()
    assert isLoginRefused(caught.value)
