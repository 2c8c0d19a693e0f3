"""Private names of Zuul and kazoo are used in two rooms only.

What has no public name may be another thing in each release.
"""

import ast
import functools
import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3] / 'zuul_nodes'
ROOMS = ('plugin', 'launcher/zookeeper')
HOSTS = ('zuul', 'kazoo')
# File -> names that it uses all the same, and why.
EXCEPTIONS = {
    # Drivers do not know the plugin.
    'drivers/framework/providerclasses.py': (
        {'_subclasses', '_subclass_id'},
        'nothing else says which class reads the records of providers'),
    'drivers/kubernetes/api.py': (
        {'_getConfig'},
        'the cluster is found as Zuul finds it, wherever it is configured'),
    'drivers/kubernetes/machine.py': (
        {'_active_context'},
        'nothing else says whether a step of a node is still waited for'),
    'drivers/zuul/records.py': (
        {'_state'},
        'Zuul sets a state by its public name in records that exist only'),
    'drivers/aws/endpoint.py': (
        {'_session'}, "the session is of boto3, and not one of Zuul's"),
}
# To parse all of their code would take ten times as long.
NAME = re.compile(r'\b_\w+')
# They take the name of an attribute as a string.
BY_NAME = {'getattr', 'hasattr', 'setattr', 'delattr', 'attrgetter',
           'methodcaller'}


def isPrivate(name):
    return name.startswith('_') and not name.startswith('__') and name != '_'


def getFiles():
    return sorted(
        path for path in ROOT.rglob('*.py')
        # A package of its own, which nothing imports.
        if 'driver-template' not in path.parts
        and not any((ROOT / room) in path.parents for room in ROOMS))


@functools.cache
def getPrivateNames():
    """:return: the private names that the code of Zuul or kazoo has."""
    names = set()
    for host in HOSTS:
        place, = importlib.util.find_spec(
            host).submodule_search_locations
        for path in pathlib.Path(place).rglob('*.py'):
            names.update(NAME.findall(path.read_text()))
    return frozenset(filter(isPrivate, names))


def findOtherModules(tree):
    """:return: what modules are called here that are not of Zuul or kazoo.
    """
    return {(alias.asname or alias.name).partition('.')[0]
            for node in ast.walk(tree) if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name.partition('.')[0] not in HOSTS}


def isOwn(value, others):
    """:return: whether attributes of an expression are those of a class
        itself, which may be one of Zuul's that we extend, or of a module
        of others."""
    if isinstance(value, ast.Call):
        # super()
        value = value.func
    return isinstance(value, ast.Name) and (
        value.id in {'self', 'cls', 'super'} | others)


def findUses(text):
    """:return: yields the private names of Zuul or kazoo that a module uses
        of other objects, and where."""
    tree = ast.parse(text)
    others = findOtherModules(tree)
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Attribute) and not isOwn(node.value, others):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call):
            names = [keyword.arg for keyword in node.keywords]
            function = getattr(node.func, 'attr', None) or getattr(
                node.func, 'id', None)
            if function in BY_NAME:
                names += [each.value for each in node.args
                          if isinstance(each, ast.Constant)]
        for name in names:
            if name in getPrivateNames():
                yield name, node.lineno


def test_private_names_of_zuul_and_kazoo_are_used_in_two_rooms():
    found, excepted = [], set()
    for path in getFiles():
        file = str(path.relative_to(ROOT))
        names, _ = EXCEPTIONS.get(file, ((), ''))
        for name, line in findUses(path.read_text()):
            if name in names:
                excepted.add((file, name))
            else:
                found.append(f'{file}:{line}: {name}')
    assert found == []
    assert excepted == {(file, name) for file, (names, _)
                        in EXCEPTIONS.items() for name in names}


@pytest.mark.parametrize('text', [
    'node._set(state=1)', 'node.snapshot._lock', 'getNode()._zstat',
    'BaseProvider._subclasses[name]', 'hasattr(client, "_connection")',
    'operator.attrgetter("_zstat")(record)',
    'ImageUpload.new(context, _state=1)',
    'import kazoo.client\nkazoo.client._queue',
    'from zuul.driver.kubernetes.kubernetesendpoint import _getConfig',
    'self.endpoint._client', 'connection._read_header(1)'])
def test_uses_are_found(text):
    assert list(findUses(text))


@pytest.mark.parametrize('text', [
    'self._lock', 'cls._subclasses', 'super()._client',
    'import os\nos._exit(1)', 'each._replace(rank=1)',
    '"_state"', 'function(hostname=1)', 'node.state'])
def test_others_are_not_taken_for_uses(text):
    assert not list(findUses(text))
