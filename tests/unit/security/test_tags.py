"""Tags of labels are filled in by Zuul with what a request says."""

import pytest

from tests.unit.configloader.levels import load
from zuul_nodes.configloader.errors import AttributeValueError


@pytest.mark.parametrize('value', [
    '{job_name:>9999999999}', '{job_name!r}', '{job_name.__class__}',
    '{job_name[0]}', 'a {tenant_name:{tenant_name}}'])
@pytest.mark.parametrize('level', ['label', 'image', 'provider'])
def test_nothing_but_names_is_filled_in(level, value):
    with pytest.raises(AttributeValueError, match=(
            r'has an invalid value for the tag "owner": braces may contain '
            r'only a name such as \{job_name\}\. It is set by the ')):
        load(**{level: {'tags': {'owner': value}}})


@pytest.mark.parametrize('value', [
    'x', '{job_name}', 'a {tenant_name} {{b:c}}', '}{', '{nothing}'])
def test_other_tags_are_as_they_were(value):
    assert load(label={'tags': {'owner': value}}).labels['node'].tags == {
        'owner': value}
