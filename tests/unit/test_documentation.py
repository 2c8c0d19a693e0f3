"""What the documentation shows is what the tests run."""

import pathlib
import re
import string
import textwrap

import pytest
import yaml

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


def test_log_config_of_the_operators_guide(runProgram):
    result = runProgram('cook', f'''
from zuul.ansible import logconfig
logconfig.load_config({str(ROOT / "doc/source/logging.yaml")!r}).apply()
import zuul.scheduler
print(hasattr(zuul.scheduler.Scheduler.prime, '__wrapped__'))
''')
    assert result.stdout == 'True\n', result.stderr


def test_table_of_zuuls_tests():
    """It is the list that the run is compared with, and our tests exist."""
    entries = {name: entry for name, entry in yaml.safe_load(
        (ROOT / 'tests/upstream/expected.yaml').read_text()).items()
        if 'uses' in entry}
    table = re.findall(
        r'\* - ``(Test.*)``\n     - (.*)\n     - ((?:``.*``,?\s*)+)\n',
        (ROOT / 'doc/source/conformance.rst').read_text())
    table = [(name, uses, re.findall('``(.*)``', ours))
             for name, uses, ours in table]
    assert table == [(name, entry['uses'], entry['covered-by'].split())
                     for name, entry in sorted(entries.items())]
    for ours in {each for *_, several in table for each in several}:
        path, _, name = ours.partition('::')
        assert f'\ndef {name}(' in (
            ROOT / 'tests/unit' / path).read_text(), ours
