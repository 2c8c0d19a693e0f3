"""Wholly in, or wholly out with a line that says why."""

import types

import pytest

from tests.fixtures.packages import writePackage
from tests.fixtures.programs import getRefusal
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions

# Prints which of Zuul's own are wrapped.
REPORT = '''
import zuul.cmd
import zuul.configloader
import zuul.launcher.client
import zuul.lib.connections
import zuul.model
import zuul.scheduler
import zuul.web
from zuul_nodes.plugin import seams
print([seam.attribute for seam in seams.SEAMS
       if hasattr(seam.original, '__wrapped__')])
'''
EVERY_SEAM = str([
    'ConnectionRegistry.configure', 'ParseContext.__init__',
    'TenantParser._addLayoutItems', 'TenantParser._addLayoutItems',
    'TenantParser.loadProjectYAML',
    'TenantParser._addLayoutItems',
    'ConfigLoader.createDynamicLayout',
    'ConfigLoader.createDynamicLayout',
    'NodeSet.validateReferences', 'Layout._addIdenticalObject',
    'PipelineManager._useNodepoolFallback', 'LauncherClient.getNodesetInfo',
    'LauncherClient.requestNodeset', 'NodesetRequest.serialize',
    'ProviderNode.getNodeData',
    'PipelineManager.onNodesProvisioned', 'QueueItem.setNodeRequestFailure',
    'Launcher.doesProviderHaveQuotaForNode',
    'Launcher._cachesReadyForRequest',
    'construct_build_params', 'ExecutorClient.getImageFormats',
    'ZuulWeb.generateRouteMap', 'ZuulWebAPI.config_errors',
    'ZuulWebAPI.nodeset_requests', 'ZuulWebAPI.tenant_status',
    'ZuulWebAPI.image_build', 'ZuulWebAPI.image_upload_validate',
    'ZuulWebAPI.image_build_artifact_delete',
    'ZuulWebAPI.image_upload_delete', 'ProviderConverter.toDict',
    'ProviderNodeConverter.toDict',
    'Scheduler.prime', 'Scheduler.stop']) + '\n'
NO_SEAM = '[]\n'


@pytest.fixture
def packages(tmp_path):
    """:return: a directory for packages, to be put on PYTHONPATH."""
    return tmp_path / 'packages'


@pytest.fixture
def runWithZuul15(runProgram, packages, tmp_path):
    """Run one of Zuul's commands where Zuul is too new for the plugin.

    :return: a function of what zuul.conf has, the command, and the
        arguments, to which the path of zuul.conf is added.
    """
    writePackage(packages, 'zuul', '15.0.0')

    def run(conf, command, *arguments):
        path = tmp_path / 'zuul.conf'
        path.write_text(conf)
        return runProgram(command, REPORT, *arguments, str(path),
                          PYTHONPATH=str(packages))
    return run


def test_all_seams(runProgram):
    result = runProgram('zuul-scheduler', REPORT)
    assert (result.stdout, result.stderr) == (EVERY_SEAM, '')


def test_client_of_kubernetes_is_imported_when_it_is_used(runProgram):
    result = runProgram('zuul-scheduler', '''
import sys
import zuul.cmd
print([name in sys.modules for name in (
    'zuul_nodes.drivers.kubernetes.api',
    'kubernetes.client.api.core_v1_api')])
''')
    assert (result.stdout, result.stderr) == ('[True, False]\n', '')


@pytest.mark.parametrize('value', ['1', 'true', 'yes'])
def test_kill_switch(runProgram, value):
    result = runProgram('zuul-scheduler', REPORT, ZUUL_NODES_DISABLE=value)
    assert (result.stdout, result.stderr) == (NO_SEAM, '')


@pytest.mark.parametrize('value', ['', '0', 'false'])
def test_kill_switch_not_set(runProgram, value):
    result = runProgram('zuul-scheduler', REPORT, ZUUL_NODES_DISABLE=value)
    assert result.stdout == EVERY_SEAM


@pytest.mark.parametrize('version', ['14.2.1', '15.0.0'])
def test_version_mismatch(runProgram, packages, version):
    writePackage(packages, 'zuul', version)
    result = runProgram('zuul-scheduler', REPORT, PYTHONPATH=str(packages))
    assert result.stdout == NO_SEAM
    line, = result.stderr.splitlines()
    assert 'leaves Zuul unchanged' in line
    assert f'Zuul is {version}' in line


def test_development_version_of_the_window_fits(runProgram, packages):
    writePackage(packages, 'zuul', '14.4.0.dev3')
    result = runProgram('zuul-scheduler', REPORT, PYTHONPATH=str(packages))
    assert (result.stdout, result.stderr) == (EVERY_SEAM, '')


def test_signature_mismatch(runProgram):
    # A Zuul somebody has patched: the last seam of all does not hold.
    result = runProgram('cook', '''
import zuul.scheduler
def stop(self, gently): pass
zuul.scheduler.Scheduler.stop = stop
from zuul_nodes import plugin
plugin.install()
''' + REPORT)
    assert result.stdout == NO_SEAM
    line, = result.stderr.splitlines()
    assert ('zuul.scheduler.Scheduler.stop has the signature '
            '(self, gently), not (self)') in line


def test_missing_attribute(runProgram):
    result = runProgram('cook', '''
import zuul.scheduler
del zuul.scheduler.Scheduler.prime
from zuul_nodes import plugin
print(plugin.install())
''')
    assert result.stdout == 'False\n'
    line, = result.stderr.splitlines()
    assert 'zuul.scheduler.Scheduler.prime does not exist' in line


def test_mismatch_is_refused_where_zuul_conf_relies_on_us(
        runWithZuul15, packages):
    writePackage(packages, 'shelf', entry_points={
        'zuul.drivers': {'shelf': 'shelf:Driver'}})
    line = getRefusal(runWithZuul15('[connection rack]\ndriver=shelf\n',
                                    'zuul-web', '-f', '-c'))
    assert 'Zuul is 15.0.0' in line
    assert '[connection rack] driver = shelf in zuul.conf' in line
    assert 'Install versions of zuul and zuul-nodes that fit' in line


@pytest.mark.parametrize('command, arguments, status', [
    ('zuul-scheduler', '-c', 1),
    ('zuul-scheduler', '-fdc', 1),
    ('zuul-executor', '-c', 0),
    # A scheduler that runs can be told to stop, and asked for its version.
    ('zuul-scheduler', 'stop -c', 0),
    ('zuul-scheduler', '--version -c', 0),
])
def test_embedded_launcher_concerns_the_scheduler(
        runWithZuul15, command, arguments, status):
    result = runWithZuul15('[launcher]\nembedded=true\n',
                           command, *arguments.split())
    assert result.returncode == status
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize('conf', [
    # Zuul will complain about it itself.
    '[launcher',
    # Zuul has this driver, too.
    '[connection rack]\ndriver=static\n',
])
def test_mismatch_is_tolerated(runWithZuul15, conf):
    result = runWithZuul15(conf, 'zuul-scheduler', '-c')
    assert (result.returncode, result.stdout) == (0, NO_SEAM)
    assert len(result.stderr.splitlines()) == 1


DRIVER = '''
from zuul.driver import Driver
class ShelfDriver(Driver):
    name = '{name}'
'''


@pytest.mark.parametrize('group, name, value, source, expected', [
    ('zuul.drivers', 'shelf', 'nowhere:Driver', '',
     "ModuleNotFoundError: No module named 'nowhere'"),
    ('zuul.drivers', 'shelf', 'shelf_driver:Typo', DRIVER,
     "AttributeError: module 'shelf_driver' has no attribute 'Typo'"),
    ('zuul.drivers', 'shelf', 'shelf_driver:x', 'x = 1', 'not a class'),
    ('zuul.drivers', 'shelf', 'shelf_driver:X', 'class X: pass',
     'not a subclass of zuul.driver.Driver'),
    ('zuul.drivers', 'rack', 'shelf_driver:ShelfDriver', DRIVER,
     'the name of the driver class is "shelf"'),
    ('zuul.drivers', 'shelf', 'shelf_driver:X', 'import sys; sys.exit(3)',
     'SystemExit'),
    ('zuul.drivers', 'shelf', 'shelf_driver:X', '''
import abc
from zuul.driver import Driver
class X(Driver):
    name = 'shelf'
    @abc.abstractmethod
    def getConnection(self): pass
''', 'the class lacks methods: getConnection'),
    ('zuul.config_objects', 'shelf', 'shelf_driver:X',
     'class X:\n def fromYaml(self): pass',
     'the name must be one of: image, flavor, label, section, provider'),
    ('zuul.layout_rules', 'shelf', 'shelf_driver:X', 'class X: pass',
     'the name must be one of: proposal, access, duplicates'),
    ('zuul.components', 'shelf', 'shelf_driver:X',
     'class X:\n def start(self): pass',
     'the class has no method stop()'),
])
def test_broken_entry_point(
        runProgram, packages, group, name, value, source, expected):
    writePackage(packages, 'shelf-maker', '0.7',
                 {group: {name: value}},
                 {'shelf_driver': source.format(name='shelf')})
    result = runProgram('zuul-scheduler', REPORT, PYTHONPATH=str(packages))
    line = getRefusal(result)
    assert f'entry point "{name}" of group {group}' in line
    assert 'from the package shelf-maker 0.7' in line
    assert expected in line


@pytest.mark.parametrize('group, name, method', [
    ('zuul.config_objects', 'label', 'fromYaml'),
    ('zuul.layout_rules', 'access', 'checkNodeset'),
    ('zuul.layout_rules', 'proposal', 'addItems'),
])
def test_broken_entry_point_in_place_of_ours(group, name, method):
    # Ours is not there to be found; as if it had been uninstalled.
    entry_point = types.SimpleNamespace(
        name=name, group=group, value='shelf:X',
        load=lambda: type('X', (), {}),
        dist=types.SimpleNamespace(name='shelf-maker', version='0.7'))
    with pytest.raises(UserError, match=rf'has no method {method}\(\)'):
        extensions.loadOne([entry_point])


def test_replacing_a_driver_of_zuuls_takes_a_subclass(runProgram, packages):
    writePackage(packages, 'shelf-maker', '0.7',
                 {'zuul.drivers': {'git': 'shelf_driver:ShelfDriver'}},
                 {'shelf_driver': DRIVER.format(name='git')})
    result = runProgram('zuul-scheduler', REPORT, PYTHONPATH=str(packages))
    line = getRefusal(result)
    assert 'not a subclass of zuul.driver.git.GitDriver' in line


def test_duplicate_entry_point_names_both_packages(runProgram, packages):
    writePackage(packages, 'shelf-maker', '0.7',
                 {'zuul.drivers': {'static': 'shelf_driver:ShelfDriver'}},
                 {'shelf_driver': DRIVER.format(name='static')})
    result = runProgram('zuul-scheduler', REPORT, PYTHONPATH=str(packages))
    line = getRefusal(result)
    assert ('entry point "static" of group zuul.drivers is given by both '
            'shelf-maker 0.7 and zuul-nodes ') in line
    assert 'uninstall one of them' in line


def test_remains_of_an_interrupted_pip_are_no_duplicate(
        runProgram, packages):
    writePackage(packages, 'zuul-nodes', '0.0.9', {
        'zuul.drivers': {'static': 'zuul_nodes.drivers.static:StaticDriver'}})
    packages.joinpath('zuul-nodes-0.0.9.dist-info').rename(
        packages / '~uul_nodes-0.0.9.dist-info')
    result = runProgram('zuul-scheduler', REPORT, PYTHONPATH=str(packages))
    assert (result.stdout, result.stderr) == (EVERY_SEAM, '')


def test_a_component_may_import_what_commands_are_made_of(
        runProgramAfresh, packages):
    # Though the plugin is installed while a command is being imported.
    writePackage(packages, 'app-maker', '1', {
        'zuul.components': {'app': 'app_maker:App'}}, {'app_maker': '''
import zuul.scheduler
from zuul.cmd import ZuulDaemonApp
class App:
    start = stop = join = lambda self: None
'''})
    result = runProgramAfresh(
        'zuul-scheduler', REPORT, PYTHONPATH=str(packages))
    assert (result.stdout, result.stderr) == (EVERY_SEAM, '')


def test_log_config_door(runProgram, tmp_path):
    logging_conf = tmp_path / 'logging.yaml'
    logging_conf.write_text('''
version: 1
handlers:
  zuul-nodes:
    (): zuul_nodes.plugin.logdoor.handler
root:
  handlers: [zuul-nodes]
''')
    # Not called zuul-*, so that the start-up file does nothing.
    result = runProgram('cook', f'''
from zuul.ansible import logconfig
for _ in range(2):
    logconfig.load_config({str(logging_conf)!r}).apply()
''' + REPORT)
    assert (result.stdout, result.stderr) == (EVERY_SEAM, '')


def test_log_config_door_with_a_broken_entry_point(runProgram, packages):
    writePackage(packages, 'shelf-maker', '0.7',
                 {'zuul.drivers': {'shelf': 'nowhere:Driver'}})
    result = runProgram('cook', '''
from zuul_nodes.plugin import logdoor
logdoor.handler()
''', PYTHONPATH=str(packages))
    line = getRefusal(result)
    assert 'from the package shelf-maker 0.7' in line
