"""The how-to guides show what commands print and what services log."""

import ast
import configparser
import pathlib
import re
import textwrap

import pytest

from tests.emulators.gce import GCE
from tests.fixtures.checkruns import runCheck
from tests.fixtures.docblocks import ROOT, findBlocks
from tests.fixtures.exampledrivers import DRIVERS, FILES
from tests.fixtures.layout import makeLayout
from zuul_nodes.cmd.explain.explanation import Explained
from zuul_nodes.drivers.gce import GceDriver
from zuul_nodes.reference import getSections
from zuul_nodes.testing.layout import makeConnections, makeProviders

EXAMPLES = ROOT / 'doc/source/examples'
# Pages with a zuul.conf and a configuration that belong together.
SITES = ('aws', 'azure', 'gce', 'kubernetes', 'local', 'openstack', 'static')


def getShown(page, name):
    """:return: the output of the command on a page that names this file."""
    block, = (block for block in findBlocks(page)
              if block.tested_by.endswith(name))
    lines = block.text.splitlines()
    return '\n'.join(line.rstrip() for line in lines
                     if not line.startswith('$ '))


@pytest.mark.parametrize('name', SITES)
def test_example_of_each_driver_is_loaded(name, tmp_path, zk_client):
    for file_name, text in FILES.items():
        (tmp_path / file_name).write_text(text)
    config = configparser.ConfigParser()
    path = EXAMPLES / f'{name}.conf'
    if path.exists():
        config.read_string(
            path.read_text().replace('/etc/zuul', str(tmp_path)))
    provider, = makeProviders(
        makeConnections(config, *DRIVERS.values()),
        (EXAMPLES / f'{name}.yaml').read_text(), zk_client, 'system')
    assert provider.labels
    assert provider.driver.name == name


def test_output_of_explain():
    config = configparser.ConfigParser()
    config.read_string('[connection cloud]\ndriver=fake\npath=/nowhere\n')
    layout = makeLayout((EXAMPLES / 'explain.yaml').read_text())
    layout.tenant.layout = layout
    layout.tenant.name = 'example'
    explained = Explained(
        layout.tenant, makeConnections(config, *DRIVERS.values()).connections,
        'desk', 'node')
    text = explained.getText()
    assert getShown('howto/explain-attributes.rst',
                    pathlib.Path(__file__).name) == text


def test_formats_are_those_of_the_drivers():
    text = (ROOT / 'doc/source/howto/choose-format.rst').read_text()
    rows = []
    for line in text.splitlines():
        if found := re.match('``([a-z]+)`` ', line):
            rows.append((found[1], line[15:43]))
        elif rows and line.startswith(15 * ' '):
            rows[-1] = rows[-1][0], rows[-1][1] + line[15:43]
    assert {name for name, _ in rows} == DRIVERS.keys() - {'fake'}
    for name, row in rows:
        written = set(re.findall('``([a-z0-9.]+)``', row)) - {'clouds.yaml'}
        known = {value for kind, attributes in getSections(DRIVERS[name])
                 for each in attributes if each.name == 'image-format'
                 for value, _ in each.choices} - {'snapshot'}
        if known:
            assert written == known, name


@pytest.fixture
def gce():
    emulator = GCE()
    emulator.buckets.create('images', emulator.project)
    yield emulator
    emulator.end()


def test_output_of_check(gce, tmp_path, monkeypatch, capsys):
    text = (EXAMPLES / 'gce.yaml').read_text()
    nodes = tmp_path / 'nodes'
    nodes.mkdir()
    (nodes / 'zuul.yaml').write_text(text.replace(
        'debian-12', 'debian-99').replace('e2-standard-2', 'e2-standr'))
    conf = tmp_path / 'zuul.conf'
    conf.write_text(textwrap.dedent(f'''
        [connection gce]
        driver = gce
        project = {gce.project}
        bucket = images
        api_endpoint = {gce.url}
        storage_endpoint = {gce.storage_url}
        '''))
    assert runCheck(monkeypatch, GceDriver, '-c', conf, nodes) == 1
    captured = capsys.readouterr()
    assert getShown('howto/check-before-merge.rst',
                    pathlib.Path(__file__).name) == (
        captured.err + captured.out).strip()


def getStrings():
    """:return: all text that the code has, with "…" for what is filled in,
        as one string."""
    found = []
    for path in (ROOT / 'zuul_nodes').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                found.append(''.join(
                    part.value if isinstance(part, ast.Constant) else '…'
                    for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(
                    node.value, str):
                found.append(node.value)
    return '\n'.join(found)


def test_message_of_the_log_about_a_node_that_stays():
    shown = getShown('howto/free-node.rst', pathlib.Path(__file__).name)
    assert shown.replace('...', '%s') in getStrings()


def test_error_messages_of_the_reference():
    """Each is in the code, between what is filled in."""
    text = (ROOT / 'doc/source/reference/errors.rst').read_text()
    terms = [term for line in text.splitlines() if line.startswith('``')
             for term in re.findall('``(.*?)``', line)]
    assert len(terms) > 40
    strings = getStrings()
    assert [term for term in terms for fragment in term.split('…')
            if fragment.strip(' .') and fragment.strip(' .') not in strings
            ] == []
