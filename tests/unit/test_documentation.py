"""What the documentation shows is what the tests run."""

import ast
import json
import pathlib
import re
import string
import textwrap

import pytest
import yaml
import zuul

from zuul_nodes.audit import Event, Result

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / 'README.rst').read_text()


def test_configuration_in_the_readme_is_the_quickstarts():
    block = re.search(r'\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)',
                      README).group(1)
    nodes = (ROOT / 'zuul_nodes/quickstart/git-repositories'
             / 'zuul-config/zuul.d/nodes.yaml').read_text()
    assert textwrap.dedent(block).strip() == string.Template(
        nodes).substitute(node_port=22, node_user='zuul').strip()


@pytest.mark.parametrize('command', ['./tools/quickstart', './tools/test'])
def test_commands_of_the_readme_are_those_of_ci(command):
    assert f'    {command}\n' in README
    assert command in (ROOT / '.ci/run').read_text()


def test_links_of_the_readme():
    for target in re.findall(r'<(doc/.*?)>`_', README):
        assert (ROOT / target).exists()


def test_log_config_that_loads_the_plugin(runProgram):
    result = runProgram('cook', f'''
from zuul.ansible import logconfig
logconfig.load_config({str(ROOT / "doc/source/logging.yaml")!r}).apply()
import zuul.scheduler
print(hasattr(zuul.scheduler.Scheduler.prime, '__wrapped__'))
''')
    assert result.stdout == 'True\n', result.stderr


def test_log_config_of_the_audit_log(runProgram, tmp_path):
    config = (ROOT / 'doc/source/examples/audit-logging.yaml').read_text()
    path = tmp_path / 'logging.yaml'
    path.write_text(config.replace('/var/log/zuul', str(tmp_path)))
    result = runProgram('cook', f'''
import logging
from zuul.ansible import logconfig
logconfig.load_config({str(path)!r}).apply()
from zuul_nodes import audit
audit.tell(audit.Event.USED, node='1')
logging.getLogger('zuul.Launcher').info('other')
''')
    assert 'other' in result.stderr
    assert 'used' not in result.stderr
    line, = (tmp_path / 'audit.json').read_text().splitlines()
    assert json.loads(line)['node'] == '1'


def test_events_and_fields_of_the_audit_log():
    """Each that the code writes is in the reference, and no other."""
    text = (ROOT / 'doc/source/reference/audit-log.rst').read_text()
    events, rest = text.split('\nResults\n---')
    results, fields = rest.split('\nFields\n---')
    assert {*re.findall(r'^``(.*)``$', events, re.MULTILINE)} == {*Event}
    assert {name for line in results.splitlines() if line.startswith('``')
            for name in re.findall('``(.*?)``', line)} == {*Result}
    assert {*re.findall(r'^``(\w+)``  ', fields, re.MULTILINE)} == (
        _getFields() - {'time', 'event', 'result'})


def _getFields():
    """:return: the names of all fields that lines get."""
    fields = set()
    for path in (ROOT / 'zuul_nodes').rglob('*.py'):
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            if path.name != 'audit.py' and 'audit.Event.' in ast.unparse(
                    call.args[0]):
                fields |= {each.arg for each in call.keywords} - {None}
    for function in ast.walk(ast.parse(
            (ROOT / 'zuul_nodes/audit.py').read_text())):
        if getattr(function, 'name', None) in ('_', 'tell'):
            for table in ast.walk(function):
                if isinstance(table, ast.Dict):
                    fields |= {key.value for key in table.keys}
    return fields


def test_table_of_zuuls_tests():
    """It is the list that the run is compared with, and our tests exist."""
    entries = {name: entry for name, entry in yaml.safe_load(
        (ROOT / 'tests/upstream/expected.yaml').read_text()).items()
        if 'uses' in entry}
    table = re.findall(
        r'\* - ``(Test.*)``\n     - (.*)\n     - ((?:``.*``,?\s*)+)\n',
        (ROOT / 'doc/source/contribute/conformance.rst').read_text())
    table = [(name, uses, re.findall('``(.*)``', ours))
             for name, uses, ours in table]
    assert table == [(name, entry['uses'], entry['covered-by'].split())
                     for name, entry in sorted(entries.items())]
    for ours in {each for *_, several in table for each in several}:
        path, _, name = ours.partition('::')
        assert f'\ndef {name}(' in (
            ROOT / 'tests/unit' / path).read_text(), ours


def test_places_in_zuul_of_the_comparison():
    text = (ROOT / 'doc/source/explanation/comparison.rst').read_text()
    root = pathlib.Path(zuul.__file__).parents[1]
    places = re.findall(r'``(zuul/.*?\.py)``: (.*)', text)
    assert len(places) > 8
    assert [(path, name) for path, names in places
            for each in re.findall('``(.*?)``', names)
            for name in each.split('.')
            if name not in (root / path).read_text()] == []
    # What the table says that Zuul never does.
    sender = 'addImageDeleteEvent('
    assert [line.strip() for path in (root / 'zuul').rglob('*.py')
            for line in path.read_text().splitlines() if sender in line
            ] == [f'def {sender}self, iba):']
