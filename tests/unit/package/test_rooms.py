"""The rooms of the package, as the page on architecture describes them."""

import ast
import functools
import importlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]
LAUNCHER = ROOT / 'zuul_nodes' / 'launcher'
ROOMS = sorted(path.parent.name for path in LAUNCHER.glob('*/__init__.py'))
# Rooms that have others inside.
HOUSES = ('launcher', 'cmd', 'configloader', 'drivers', 'drivers/openstack')


@functools.cache
def getNodes(path):
    """:return: all nodes of the syntax tree of a file."""
    return list(ast.walk(ast.parse(path.read_text())))


@functools.cache
def getImports(path):
    """:return: a list of (module, name) for each name that a file imports
        from one."""
    return [(module, alias.name if isinstance(node, ast.ImportFrom) else None)
            for node in getNodes(path)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
            if (module := getattr(node, 'module', alias.name))]


def getAttributes(path, name):
    """:return: set of what a file uses of a module that it imports by name."""
    return {node.attr for node in getNodes(path)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name) and node.value.id == name}


@pytest.mark.parametrize('room', ROOMS)
def test_a_room_is_entered_by_what_it_exports(room):
    package = f'zuul_nodes.launcher.{room}'
    exported = set(importlib.import_module(package).__all__)
    found, used = [], set()
    for path in (ROOT / 'zuul_nodes').rglob('*.py'):
        # The conformance kit has the launcher hurry.
        if LAUNCHER / room in path.parents or 'testing' in path.parts:
            continue
        for module, name in getImports(path):
            if module == package:
                used.add(name)
            elif f'{module}.{name}' == package:
                used |= getAttributes(path, name)
            elif module.startswith(f'{package}.'):
                found.append(f'{path}: {module}')
    assert found == []
    assert used == exported


@pytest.mark.parametrize('house', HOUSES)
def test_the_tests_of_a_room_are_in_a_folder_of_its_name(house):
    rooms = {path.parent.name for path
             in (ROOT / 'zuul_nodes' / house).glob('*/__init__.py')}
    tested = {path.parent.name for path
              in (ROOT / 'tests/unit' / house).glob('*/test_*.py')}
    assert rooms
    assert rooms <= tested


def isDriverName(node):
    """:return: whether an expression is the name of a driver."""
    return (isinstance(node, ast.Attribute) and node.attr == 'name'
            and 'driver' in (getattr(node.value, 'attr', None),
                             getattr(node.value, 'id', None)))


def findDriverNames(text):
    """:return: a list of the lines that compare the name of a driver."""
    return [node.lineno for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.Compare, ast.Match))
            and any(map(isDriverName, ast.walk(
                node.subject if isinstance(node, ast.Match) else node)))]


def test_the_launcher_asks_what_drivers_declare_and_not_for_their_names():
    assert findDriverNames('if provider.driver.name == "static": pass') == [1]
    assert findDriverNames('x = "static" != driver.name') == [1]
    assert [f'{path}:{line}' for path in LAUNCHER.rglob('*.py')
            for line in findDriverNames(path.read_text())] == []


def getConstructors(path):
    """Yield (class, names of parameters) for each class of a file."""
    for node in getNodes(path):
        if not isinstance(node, ast.ClassDef):
            continue
        for each in node.body:
            if isinstance(each, ast.FunctionDef) and each.name == '__init__':
                yield node.name, [arg.arg for arg in (
                    *each.args.args[1:], *each.args.kwonlyargs)]


def test_a_constructor_names_what_a_part_needs():
    found = [(path.relative_to(LAUNCHER), name, parameters)
             for path in LAUNCHER.rglob('*.py')
             for name, parameters in getConstructors(path)]
    assert ('launcher', 'Launcher') in {
        (path.stem, name) for path, name, _ in found}
    assert [each for each in found if 'launcher' in each[2]] == []
    # The cache of records is told by others how it differs from Zuul's.
    assert {each[1] for each in found if len(each[2]) > 7} == {'Cache'}


def test_the_page_on_architecture_names_rooms_and_files_that_exist():
    text = (ROOT / 'doc/source/explanation/architecture.rst').read_text()
    files = set(re.findall(r'[a-z_]+/[a-z_]+\.py|[a-z_]+\.py', text))
    assert files
    for name in files:
        places = (ROOT / 'zuul_nodes', LAUNCHER, LAUNCHER / 'images',
                  ROOT / 'tests/unit')
        assert any((place / name).exists() for place in places), name
    rooms = {*ROOMS, 'objects', 'flattening', 'rules', 'api', 'framework'}
    assert {f'{room}/' for room in rooms} <= set(re.findall('[a-z]+/', text))
