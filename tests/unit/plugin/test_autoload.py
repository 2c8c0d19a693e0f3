"""The start-up file: nothing in other programs, the plugin in Zuul's."""

import json
import pathlib
import sysconfig

import pytest

from zuul_nodes import autoload

IS_ARMED = '''
import sys
print(sys.modules["zuul_nodes.autoload"].isArmed())
'''


@pytest.mark.parametrize('name, expected', [
    ('zuul-scheduler', True),
    ('zuul-web', True),
    ('zuul-executor', True),
    ('zuul-launcher', True),
    ('zuul-merger', True),
    ('zuul-admin', True),
    ('zuul', True),
    ('zuul-nodes', False),
    ('pip', False),
    ('zuulish', False),
    ('', False),
])
def test_commands(name, expected):
    assert autoload.isZuulCommand(name) is expected
    assert autoload.isZuulCommand(f'/opt/zuul/bin/{name}') is expected


@pytest.mark.parametrize('name', ['zuul_nodes.pth', 'zuul_nodes.start'])
def test_start_up_files_are_installed(name):
    installed = pathlib.Path(sysconfig.get_path('purelib'), name)
    line, = installed.read_text().splitlines()
    assert 'zuul_nodes.autoload' in line


def test_start_file_names_a_callable():
    # PEP 829: one "package.module:callable" a line.
    installed = pathlib.Path(
        sysconfig.get_path('purelib'), 'zuul_nodes.start')
    module, _, name = installed.read_text().strip().partition(':')
    assert module == autoload.__name__
    assert callable(getattr(autoload, name))


def test_another_program_imports_nothing_but_the_door(runProgramAfresh):
    # How long it takes is measured by "tox -e bench"; this is why.
    source = 'import sys, json; print(json.dumps(sorted(sys.modules)))'
    ours = {'zuul_nodes', 'zuul_nodes.autoload'}
    assert ours <= set(json.loads(runProgramAfresh('cook', source).stdout))
    result = runProgramAfresh('cook', '''
import sys
for name in [n for n in sys.modules if n.startswith('zuul_nodes')]:
    del sys.modules[name]
before = set(sys.modules)
import zuul_nodes.autoload
zuul_nodes.autoload.main()
print(*sorted(set(sys.modules) - before))
''')
    assert set(result.stdout.split()) == ours


def test_another_program_is_not_touched(runProgramAfresh):
    assert runProgramAfresh('cook', IS_ARMED).stdout == 'False\n'


def test_a_zuul_command_waits_for_zuul(runProgramAfresh):
    result = runProgramAfresh('zuul-scheduler', IS_ARMED + '''
print([name for name in sys.modules if name == 'zuul'
       or name.startswith('zuul.') or name == 'importlib.metadata'])
''')
    assert result.stdout == 'True\n[]\n', result.stderr


def test_the_start_up_file_may_run_twice(runProgram):
    result = runProgram('zuul-scheduler', '''
import sys
from zuul_nodes import autoload
autoload.main()
autoload.main()
print(sum(type(finder).__module__ == autoload.__name__
          for finder in sys.meta_path))
import zuul.cmd
import zuul.scheduler
prime = zuul.scheduler.Scheduler.prime
autoload.main()
print(hasattr(prime.__wrapped__, '__wrapped__'))
''')
    assert result.stdout == '1\nFalse\n', result.stderr


def test_a_zuul_command_gets_the_plugin(runProgramAfresh):
    result = runProgramAfresh('zuul-web', '''
import threading
import zuul.cmd
import zuul.lib.connections
print(hasattr(zuul.lib.connections.ConnectionRegistry.configure,
              '__wrapped__'))
print(len(threading.enumerate()))
# Introspection sees the module as it would be without us.
print('exec_module' in vars(zuul.lib.connections.__loader__))
''')
    assert result.stdout == 'True\n1\nFalse\n', result.stderr
