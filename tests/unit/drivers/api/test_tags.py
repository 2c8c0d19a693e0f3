"""Dynamic tags, as the clouds' drivers fit them."""

import pytest

from zuul_nodes.drivers.api import tags
from zuul_nodes.drivers.aws.names import TAG_VALUES
from zuul_nodes.drivers.aws.names import fitTags as fitForAws
from zuul_nodes.drivers.azure.names import LONGEST_VALUE
from zuul_nodes.drivers.azure.names import fitTags as fitForAzure
from zuul_nodes.drivers.gce.names import VALUE, makeLabels
from zuul_nodes.drivers.kubernetes.metadata import NAME, makeMetadata
from zuul_nodes.drivers.openstack.cloud.names import LONGEST, fitMetadata

VALUES = ['example.com/org/Repo', 'ü' * 512, 'a' * tags.LONGEST, 'a\x00b', '']


@pytest.mark.parametrize('fit, isTaken', [
    (fitForAws, lambda value: len(value) <= TAG_VALUES.most),
    (fitForAzure, lambda value: len(value) <= LONGEST_VALUE),
    (makeLabels, VALUE.fullmatch),
    (lambda given: makeMetadata(given)['labels'],
     lambda value: not value or NAME.fullmatch(value)),
    (fitMetadata, lambda value: len(value) <= LONGEST)])
def test_clouds_take_whatever_is_filled_in(fit, isTaken):
    given = {f'key_{number}-a': value for number, value in enumerate(VALUES)}
    assert all(tags.KEY.fullmatch(key) for key in given)
    fitted = fit(given)
    assert fitted.keys() == given.keys()
    assert len(set(fitted.values())) == len(VALUES)
    assert all(map(isTaken, fitted.values()))


def test_what_is_filled_in_is_not_filled_in_again():
    assert tags.fillIn('{a}{request.b}{c}{', {
        'a': '{b}', 'b': None, 'd': 'e'}) == '{b}{c}{'
