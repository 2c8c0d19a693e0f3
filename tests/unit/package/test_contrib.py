"""Units and container files that operators copy."""

import configparser
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import types

import kubernetes.client
import pytest
import requests
import yaml
from zuul.lib.monitoring import MonitoringServer
from zuul.zk.components import BaseComponent

from zuul_nodes import cmd
from zuul_nodes.launcher.settings import Settings

ROOT = pathlib.Path(__file__).parents[3]
SYSTEMD = ROOT / 'contrib/systemd'
CONTAINERS = ROOT / 'contrib/containers'
CACHE = '/var/cache/zuul-nodes'
SERVICES = {'scheduler', 'web', 'executor', 'launcher'}

SCHEDULER = '''
[Service]
User=root
ExecStart=/bin/true
'''


@pytest.fixture
def units(tmp_path):
    """A directory with our units, whose programs exist here."""
    shutil.copytree(SYSTEMD, tmp_path, dirs_exist_ok=True)
    launcher = tmp_path / 'zuul-nodes-launcher.service'
    launcher.write_text(launcher.read_text().replace(
        '/opt/zuul/bin', str(pathlib.Path(sys.prefix, 'bin'))))
    (tmp_path / 'zuul-scheduler.service').write_text(SCHEDULER)
    return tmp_path


def analyze(*args):
    return subprocess.run(['systemd-analyze', *args], capture_output=True,
                          text=True, check=False, timeout=60)


def readOptions(path):
    """:return: a section of zuul.conf, as the comment of a unit has it."""
    text = path.read_text()
    config = configparser.ConfigParser()
    lines = [line[4:] for line in text.splitlines()
             if line.startswith('#   ')]
    config.read_string('\n'.join(lines))
    return config


@pytest.mark.parametrize('name', ['zuul-nodes-launcher', 'zuul-scheduler'])
def test_systemd_accepts_a_unit(units, name):
    """Without a word, which it would have for an unknown option."""
    result = analyze('verify', units / f'{name}.service')
    said = [line for line in result.stderr.splitlines() if 'zuul' in line]
    assert (result.returncode, said) == (0, [])


def test_systemd_tells_of_a_misspelt_option(units):
    unit = units / 'zuul-nodes-launcher.service'
    unit.write_text(unit.read_text().replace('PrivateTmp', 'PrivatTmp'))
    assert 'PrivatTmp' in analyze('verify', unit).stderr


def test_launcher_is_exposed_little():
    """As systemd counts it, from 0 to 100."""
    result = analyze('security', '--offline=yes', '--threshold=20',
                     SYSTEMD / 'zuul-nodes-launcher.service')
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize('path', [
    'zuul-nodes-launcher.service',
    'zuul-scheduler.service.d/zuul-nodes.conf'])
def test_units_write_where_their_options_say(path):
    settings = Settings.read(readOptions(SYSTEMD / path))
    text = (SYSTEMD / path).read_text()
    assert settings.temp_dir == CACHE
    assert 'CacheDirectory=zuul-nodes\n' in text
    if settings.command_socket != Settings.command_socket:
        assert settings.command_socket.startswith('/run/zuul-nodes/')
        assert 'RuntimeDirectory=zuul-nodes\n' in text


def getCommands():
    unit = (SYSTEMD / 'zuul-nodes-launcher.service').read_text()
    line, = (line for line in unit.splitlines()
             if line.startswith('ExecStart='))
    yield shlex.split(line.partition('=')[2])
    yield readCompose()['services']['launcher']['command']
    yield getContainer()['command']


def readCompose():
    return yaml.safe_load((CONTAINERS / 'compose.yaml').read_text())


def getContainer():
    deployment = yaml.safe_load((CONTAINERS / 'launcher.yaml').read_text())
    container, = deployment['spec']['template']['spec']['containers']
    return container


def test_launchers_are_started_in_the_foreground():
    for program, *arguments in getCommands():
        assert pathlib.Path(program).name == 'zuul-nodes'
        args = cmd.createParser(arguments[0]).parse_args(arguments)
        assert args.subcommand == 'launcher'
        assert args.foreground


def test_images_are_made_of_the_zuul_that_was_tested():
    constraints = (ROOT / 'constraints.txt').read_text().splitlines()
    zuul, = (line for line in constraints if line.startswith('zuul=='))
    *_, version = zuul.split('==')
    container_file = (CONTAINERS / 'Containerfile').read_text()
    assert f'zuul-ci/zuul-${{SERVICE}}:{version}\n' in container_file


def test_compose_builds_each_service():
    compose = readCompose()
    assert set(compose['services']) == SERVICES
    for name, service in compose['services'].items():
        build = service['build']
        assert build['args'] == {'SERVICE': name}
        # The file is where compose looks for it.
        context = CONTAINERS / build['context']
        assert (context / build['dockerfile']).samefile(
            CONTAINERS / 'Containerfile')
    mounts = [mount.split(':') for mount in
              compose['services']['launcher']['volumes']]
    assert ['images', CACHE] in mounts
    assert 'images' in compose['volumes']


def test_kubernetes_knows_each_field():
    deployment = yaml.safe_load((CONTAINERS / 'launcher.yaml').read_text())
    api = kubernetes.client.ApiClient()
    known = api.deserialize(
        json.dumps(deployment), 'V1Deployment', 'application/json')
    assert api.sanitize_for_serialization(known) == deployment
    mounts = {mount['name']: mount['mountPath']
              for mount in getContainer()['volumeMounts']}
    assert mounts['images'] == CACHE
    volumes = deployment['spec']['template']['spec']['volumes']
    assert set(mounts) == {volume['name'] for volume in volumes}


def test_probes_ask_what_a_launcher_answers(request):
    config = configparser.ConfigParser()
    config.read_string('[launcher]\nprometheus_port = 0\n'
                       'prometheus_addr = 127.0.0.1\n')
    server = MonitoringServer(config, 'launcher', types.SimpleNamespace(
        RUNNING=BaseComponent.RUNNING, PAUSED=BaseComponent.PAUSED,
        state=BaseComponent.RUNNING))
    server.start()
    request.addfinalizer(lambda: (server.stop(), server.join()))
    container = getContainer()
    paths = [container[probe]['httpGet']['path']
             for probe in ('livenessProbe', 'readinessProbe')]
    test = readCompose()['services']['launcher']['healthcheck']['test']
    url = f'http://127.0.0.1:{server.port}'
    for path in paths:
        assert requests.get(url + path, timeout=10).status_code == 200
    subprocess.run([sys.executable, *(
        part.replace('http://localhost:9091', url) for part in test[2:])],
        check=True, timeout=60)
