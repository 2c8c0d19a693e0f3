"""Which tenants operators allow to work on the images of a project."""

import configparser

import pytest

from zuul_nodes import imagetenants
from zuul_nodes.exceptions import UserError
from zuul_nodes.imagetenants import ImageTenants

NODES, OTHER = 'example.com/nodes', 'example.org/some/other'


@pytest.mark.parametrize('text, nodes, other', [
    # Of the tenants a, b and "c = d": those that may work on the images of
    # either project.
    ('', 'abc', 'abc'),
    (' , ', 'abc', 'abc'),
    ('a', 'a', 'a'),
    ('a, b', 'ab', 'ab'),
    ('example.com/nodes=a', 'a', 'abc'),
    ('nodes = a', 'a', 'abc'),
    ('some/other=b, example.org/some/other=a', 'abc', 'ab'),
    # The last part of the name alone may mean any project.
    ('other=b', 'abc', 'abc'),
    ('a,example.com/nodes=b', 'ab', 'a'),
    ('example.com/nodes=b,a,example.com/nodes=a', 'ab', 'a'),
    ('example.com/nodes=c = d', 'c', 'abc'),
    ('example.com/unknown=a', 'abc', 'abc'),
    ('A', '', ''),
])
def test_tenants_by_project(text, nodes, other):
    allowed = ImageTenants.parse(text)
    names = {'a': 'a', 'b': 'b', 'c': 'c = d'}
    for project, letters in ((NODES, nodes), (OTHER, other)):
        assert ''.join(letter for letter, name in names.items()
                       if allowed.allows(name, project)) == letters


@pytest.mark.parametrize('option', imagetenants.OPTIONS.values())
@pytest.mark.parametrize('text', ['=a', 'nodes=', 'a, nodes= , b', '='])
def test_an_entry_that_is_half(option, text):
    config = configparser.ConfigParser()
    config.read_dict({'launcher': {option: text}})
    with pytest.raises(UserError) as caught:
        imagetenants.read(config)
    assert str(caught.value).startswith(
        f'zuul.conf: "{option}" in [launcher] is "')
    assert 'it must be TENANT, and PROJECT=TENANT for' in str(caught.value)


def test_without_options_every_tenant_may_do_everything():
    assert (imagetenants.read(configparser.ConfigParser())
            == imagetenants.UNLIMITED)
    assert all(each.allows('any', NODES)
               for each in imagetenants.UNLIMITED.values())


@pytest.mark.parametrize('reader, said', [
    (None, 'does not list the tenants a, b for'),
    ('b', 'does not list the tenant b for'), ('c', '')])
def test_a_tenant_reads_of_itself_alone(reader, said):
    clause = imagetenants.explainDenied('image-build', {'b', 'a'}, reader)
    assert said in clause
    assert bool(said) == bool(clause)
