"""Each block that the documentation shows is one that works.

The configuration is loaded by Zuul and by the drivers, the options of
zuul.conf are read as services read them, and the arguments of commands are
parsed by their parsers.
"""

import configparser
import tomllib

from packaging.requirements import Requirement
import pytest
import yaml
import zuul.configloader
from zuul.lib.connections import ConnectionRegistry
from zuul.model import SourceContext

from tests.fixtures.docblocks import (
    ROOT,
    Block,
    findBlocks,
    getCommands,
    getPages,
)
from tests.fixtures.exampledrivers import DRIVERS, FILES
from tests.unit.configloader.tenant import enter
from zuul_nodes import cmd
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.testing.layout import makeConnections

# Programs of others, whose arguments no test looks at.
PROGRAMS = {
    '.', 'apt-get', 'cat', 'cd', 'curl', 'debootstrap', 'docker', 'export',
    'git', 'grep', 'kill', 'kubectl', 'mypy', 'nodepool', 'openstack',
    'podman', 'printf', 'ps', 'pytest', 'python', 'python3', 'ssh',
    'ssh-keygen', 'ssh-keyscan', 'statsd_exporter', 'sudo', 'swift',
    'systemctl', 'tail', 'tar', 'tox', 'zuul-admin', 'zuul-client',
    'zuul-executor', 'zuul-launcher', 'zuul-scheduler', 'zuul-web',
}
CONFIG = '''
[connection git]
driver = git
baseurl = file:///srv/git

[connection gerrit]
driver = gerrit
server = review.example.com
user = zuul
'''
# Sections of zuul.conf that Zuul's services alone read.
ZUULS = {'scheduler', 'web', 'executor', 'zookeeper', 'keystore', 'database',
         'statsd'}


def makeContext():
    config = configparser.ConfigParser()
    config.read_string(CONFIG)
    connections = ConnectionRegistry()
    connections.configure(config, sources=True, triggers=True,
                          reporters=True, providers=True)
    return zuul.configloader.ParseContext(connections, None, None, None)


class Checks:
    """Checks a block by its language."""

    def __init__(self, tmp_path):
        self.tmp_path = tmp_path

    def check(self, block):
        """:return: yields what is wrong with a block."""
        if block.language == '':
            yield 'it names no language'
            return
        check = getattr(self, f'check_{block.language}', None)
        if check is None:
            yield f'no test checks the language {block.language}'
            return
        try:
            yield from check(block)
        except (Exception, SystemExit) as error:
            yield f'{type(error).__name__}: {error}'

    def check_yaml(self, block):
        data = yaml.load(block.text, Loader=_Loader)
        if not isinstance(data, list):
            # The part of a stanza that a sentence is about.
            if not isinstance(data, dict):
                yield 'it is neither a list nor a mapping'
            return
        kinds = {key for each in data for key in each}
        if 'hosts' in kinds:
            yield from self._checkPlays(data)
        elif kinds == {'tenant'}:
            yield from self._checkTenants(data)
        elif kinds <= set(zuul.configloader.TenantParser.all_classes):
            yield from self._checkStanzas(block)
        elif not kinds & {'name', 'role', 'zuul_return'}:
            yield f'Zuul has no objects {kinds}'

    def _checkPlays(self, plays):
        for play in plays:
            for role in play.get('roles', ()):
                name = role if isinstance(role, str) else role['role']
                if name.startswith('zuul-nodes-') and not (
                        ROOT / 'roles' / name).is_dir():
                    yield f'there is no role {name}'

    def _checkTenants(self, stanzas):
        context = makeContext()
        parser = zuul.configloader.TenantParser(
            context.connections, None, None, None, None, None, None, None)
        schema = parser.getSchema()
        for stanza in stanzas:
            schema(stanza['tenant'])
        yield from ()

    def _checkStanzas(self, block):
        context = makeContext()
        parser = zuul.configloader.TenantParser(
            context.connections, None, None, None, None, None, None, None)
        source_context = SourceContext(
            'example.com/config', 'config', 'git', 'main', 'zuul.d/x.yaml')
        source_context.trusted = True
        with context.errorContext(source_context=source_context):
            parsed = parser.loadProjectYAML(
                block.text, source_context, context)
        for name, found in vars(parsed).items():
            if name.endswith('_errors'):
                yield from (str(each.error) for each in found)
            else:
                # Attributes that no driver knows.
                yield from (str(error) for each in found
                            for _, error in getattr(each, 'faults', ()))

    def check_ini(self, block):
        config = configparser.ConfigParser()
        config.read_string(block.text.replace(
            '/etc/zuul', str(self.tmp_path)))
        for section in config.sections():
            if section == 'launcher':
                Settings.read(config)
            elif not section.startswith('connection ') and (
                    section not in ZUULS):
                yield f'Zuul has no section [{section}]'
        makeConnections(config, *DRIVERS.values())

    def check_console(self, block):
        commands, output = getCommands(block.text)
        for name, *arguments in commands:
            yield from self._checkCommand(name, arguments)
        if output and not block.tested_by:
            yield 'no test is named that compares the output'
        if block.tested_by and block.page.rpartition('/')[2] not in (
                ROOT / block.tested_by).read_text():
            yield f'{block.tested_by} does not read this page'

    def _checkCommand(self, name, arguments):
        if name == 'sudo':
            name, *arguments = arguments
        if '/bin/' in name:
            name = name.rpartition('/')[2]
        if name == 'zuul-nodes':
            subcommand = next(
                each for each in arguments if each in cmd.SUBCOMMANDS)
            cmd.createParser(subcommand).parse_args(arguments)
        elif name == 'pip':
            for each in arguments:
                if each.startswith('zuul-nodes'):
                    yield from self._checkRequirement(Requirement(each))
        elif name.startswith('./tools/'):
            if not (ROOT / name).exists():
                yield f'there is no {name}'
        elif name not in PROGRAMS:
            yield f'nothing checks the program {name}'

    def _checkRequirement(self, requirement):
        known = tomllib.loads((ROOT / 'pyproject.toml').read_text())[
            'project']['optional-dependencies']
        yield from (f'there is no extra {each}'
                    for each in requirement.extras - known.keys())

    def check_python(self, block):
        compile(block.text, block.page, 'exec')
        yield from ()

    def check_toml(self, block):
        tomllib.loads(block.text)
        yield from ()

    def check_text(self, block):
        if not block.tested_by:
            yield 'no test is named that compares it'
        elif block.page.rpartition('/')[2] not in (
                ROOT / block.tested_by).read_text():
            yield f'{block.tested_by} does not read this page'

    def check_rst(self, block):
        yield from ()

    def check_part(self, block):
        yield from ()


class _Loader(yaml.SafeLoader):
    """Reads what is encrypted or unsafe for Ansible as any other text."""


_Loader.add_multi_constructor(
    '!', lambda loader, suffix, node: loader.construct_object(
        yaml.nodes.ScalarNode('tag:yaml.org,2002:str', str(node.value))))


@pytest.fixture
def checks(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    # Files that commands name.
    (tmp_path / 'debian.qcow2').touch()
    monkeypatch.chdir(tmp_path)
    enter(monkeypatch)
    return Checks(tmp_path)


@pytest.mark.parametrize('page', getPages())
def test_what_a_page_shows_works(page, checks):
    assert [f'{block}: {problem}' for block in findBlocks(page)
            for problem in checks.check(block)] == []


@pytest.mark.parametrize('language, text, problem', [
    ('', 'x', 'it names no language'),
    ('yaml', '- label: {name: a, min-redy: 1}\n', 'min-redy'),
    ('yaml', '- tenant: {name: a, use-nodepol: false}\n', 'use-nodepol'),
    ('yaml', '- job: {name: a, imge-build-name: b}\n', 'imge-build-name'),
    ('yaml', '- nodes: {name: a}\n', 'no objects'),
    ('ini', '[launcher]\ncall_timeout = soon\n', 'call_timeout'),
    ('ini', '[connection a]\ndriver = aw\n', 'aw'),
    ('console', '$ zuul-nodes nodes list --tenat x\n', 'SystemExit'),
    ('console', '$ zuul-nods\n', 'nothing checks'),
    ('console', '$ pip install zuul-nodes[gec]\n', 'no extra gec'),
    ('console', '$ zuul-nodes nodes\nan output\n', 'no test is named'),
    ('text', 'a line of a log\n', 'no test is named'),
])
def test_mistakes_are_found(language, text, problem, checks):
    found, = checks.check(Block('page.rst', 1, language, text))
    assert problem in found


def test_blocks_are_found():
    text = '''
A paragraph::

    not checked

.. code-block:: console
   :caption: x

   $ zuul-nodes \\
       nodes
   out

* An item

  .. tested by tests/x.py

  .. code-block:: text

     a
'''
    first, second, third = findBlocks('a.rst', text)
    assert first.language == ''
    assert (second.language, second.tested_by) == ('console', '')
    assert getCommands(second.text) == ([['zuul-nodes', 'nodes']], ['out'])
    assert (third.text, third.tested_by) == ('a\n', 'tests/x.py')
