"""What a cloud is asked, and what is said of its answers."""

import argparse
import io
import json
import logging
import pathlib
import threading
import types

import jinja2
import pytest
import yaml

from zuul_nodes.cmd import asking, check
from zuul_nodes.cmd.asking import ask, askAll
from zuul_nodes.drivers import Check

EXAMPLES = pathlib.Path(__file__).parents[3] / 'doc/source/examples'

NODES = '''\
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
- section:
    name: cloud
    connection: fake
    images: [{name: debian, image-id: IMAGE}]
    flavors: [small]
- provider:
    name: cloud
    section: cloud
    labels: [{name: debian, az: ZONE}]
'''


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """:return: a function that runs the command and gives its exit status
        and what it has printed."""
    monkeypatch.setattr(check.plugin, 'install', lambda: True)
    statuses = []
    monkeypatch.setattr(check, 'leave', statuses.append)
    conf = tmp_path / 'zuul.conf'

    def run(*arguments, image='any', zone='a', text=NODES, **options):
        conf.write_text('[connection fake]\ndriver=fake\n' + ''.join(
            f'{key}={value}\n' for key, value in options.items()))
        files = tmp_path / 'zuul.d'
        files.mkdir(exist_ok=True)
        (files / 'nodes.yaml').write_text(
            text.replace('IMAGE', image).replace('ZONE', zone))
        parser = argparse.ArgumentParser()
        check.addArguments(parser)
        status = check.run(parser.parse_args(
            ['-c', str(conf), '--files', str(tmp_path), *arguments]))
        assert statuses.pop() == status
        return status, capfd.readouterr()
    return run


@pytest.fixture(autouse=True)
def connections(monkeypatch):
    from zuul_nodes.cmd import providers
    from zuul_nodes.drivers.fake import FakeDriver
    from zuul_nodes.testing import layout
    monkeypatch.setattr(
        providers, 'connect',
        lambda config: layout.makeConnections(config, FakeDriver))


def test_nothing_is_wrong(command):
    status, printed = command('cloud')
    assert status == 0
    assert 'Nothing is wrong' in printed.out


def test_what_is_wrong_is_in_the_table(command):
    status, printed = command('cloud', image='none', zone='c')
    assert status == 1
    assert 'There is no such image' in printed.out
    assert 'There is no such zone; there are a, b' in printed.out
    assert 'list instances' not in printed.out


def test_quota(command):
    status, printed = command('--format', 'json', 'cloud', instances=0)
    assert status == 1
    assert json.loads(printed.out) == [{
        'provider': 'cloud', 'object': 'label debian', 'what': 'quota', 'name': 'debian',
        'problem': 'One node takes 1 of "instances", and the cloud allows '
                   '0'}]


def test_limits_of_the_provider(command):
    text = NODES.replace('    section: cloud\n', (
        '    section: cloud\n    resource-limits: {cores: 0}\n'))
    status, printed = command('--format', 'json', 'cloud', text=text)
    assert status == 1
    said, = json.loads(printed.out)
    assert said['problem'] == ('One node takes 1 of "cores", and '
                               '"resource-limits" of the provider allow 0')


def test_what_is_right_is_shown_if_wanted(command):
    status, printed = command('--all', '--format', 'json', 'cloud')
    assert status == 0
    assert {each['what']: each['problem']
            for each in json.loads(printed.out)} == {
        'permission': '', 'zone': '', 'quota': '', 'image': ''}
    assert json.loads(command('--format', 'json', 'cloud')[1].out) == []


def test_nothing_is_changed(command, tmp_path, caplog):
    path = tmp_path / 'cloud'
    assert command('cloud', path=path)[0] == 0
    assert not path.exists()
    # Nor does anything that is not there lead to an error.
    assert not [record for record in caplog.records
                if record.levelno >= logging.WARNING]


def test_several_zones(command):
    text = NODES.replace('az: ZONE', 'availability-zones: [a, c, d]')
    status, printed = command('--format', 'json', 'cloud', text=text)
    assert status == 1
    assert [(each['what'], each['name'])
            for each in json.loads(printed.out)] == [
        ('zone', 'c'), ('zone', 'd')]


def test_a_provider_in_error(command):
    text = NODES.replace('flavor: small}', 'flavor: large}')
    status, printed = command('cloud', text=text)
    assert status == 2
    assert 'the provider "cloud" is in error: ' in printed.err


def test_a_tenant_is_that_of_a_running_zuul(command):
    with pytest.raises(SystemExit) as error:
        command('--tenant', 'one', 'cloud')
    assert error.value.code == 2


def test_an_unknown_provider(command):
    status, printed = command('clod')
    assert status == 2
    assert 'there is no provider "clod"' in printed.err


def test_a_file_that_is_wrong(command):
    status, printed = command('cloud', text='- label: {name: [}')
    assert status == 2
    assert 'nodes.yaml' in printed.err


def test_who_does_not_answer_holds_up_nobody():
    never = threading.Event()

    def fail():
        raise OSError('no')
    assert askAll([never.wait, lambda: '', fail], 0.1) == [
        'There was no answer within 0.1 s', '', 'OSError: no']
    never.set()


def makeProvider(said, **options):
    """:return: one that has a single question."""
    return types.SimpleNamespace(
        name='cloud',
        driver=types.SimpleNamespace(name='other'),
        connection=types.SimpleNamespace(
            connection_name='cloud', connection_config=options),
        getEndpoint=lambda: types.SimpleNamespace(
            canonical_name='cloud/', start=lambda: None,
            listInstances=lambda: 1 / 0),
        getChecks=lambda: [Check('key', 'key', 'label', lambda: said)])


def askOne(provider):
    """:return: the problem, and what is said of the progress."""
    stream = io.StringIO()
    result, = ask([provider], 10, stream).results
    return result.problem, stream.getvalue()


def test_secrets_are_not_shown():
    said, _ = askOne(makeProvider(
        'no 12345678 and 123456789 by zuul at /etc/keys of AKIA, a',
        password='12345678', client_secret='123456789', token='a',
        token_file='/etc/keys', access_key_id='AKIA', user='zuul'))
    assert said == 'no *** and *** by zuul at [path] of AKIA, a'


def test_a_driver_without_checks():
    provider = makeProvider('')
    del provider.getChecks
    said, progress = askOne(provider)
    assert said == 'ZeroDivisionError: division by zero'
    assert 'The driver other has no checks. ' in progress
    assert 'Asking 1 question about' in progress


def test_number():
    assert [asking.count(number, 'question') for number in range(3)] == [
        '0 questions', '1 question', '2 questions']


def test_who_does_not_end_keeps_nobody(command, monkeypatch):
    monkeypatch.setattr(check, 'ENDING', 0.1)
    never = threading.Event()
    from zuul_nodes.drivers.fake import FakeAdapter
    monkeypatch.setattr(FakeAdapter, 'stop', lambda adapter: never.wait())
    assert command('cloud')[0] == 0
    never.set()


def test_the_process_ends(tmp_path, zuulNodesAfresh):
    """One whose cloud does not answer, and which has its own threads."""
    (tmp_path / 'zuul.conf').write_text(
        '[connection fake]\ndriver=fake\ncall_delay=1000\n')
    (tmp_path / 'nodes.yaml').write_text(NODES)
    result = zuulNodesAfresh(
        'check', '-c', str(tmp_path / 'zuul.conf'), '--timeout', '1',
        '--files', str(tmp_path / 'nodes.yaml'), '--format', 'json', 'cloud')
    assert result.returncode == 1
    assert 'There was no answer within 1 s' in result.stdout


def test_the_job_of_the_guide():
    """What it runs is what the command takes."""
    play, = yaml.safe_load((EXAMPLES / 'check-playbook.yaml').read_text())
    job = next(stanza['job'] for stanza in yaml.safe_load(
        (EXAMPLES / 'check-job.yaml').read_text()) if 'job' in stanza)
    task, = [task for task in play['tasks'][-1]['block']
             if 'ansible.builtin.command' in task]
    command = jinja2.Environment().from_string(
        task['ansible.builtin.command']).render(
            zuul={'project': {'src_dir': 'src/nodes'}},
            ansible_user_dir='/home/zuul', **job['vars']).split()
    assert command[:2] == ['zuul-nodes', 'check']
    parser = argparse.ArgumentParser()
    check.addArguments(parser)
    args = parser.parse_args(command[2:])
    assert args.files == ['src/nodes']
    assert args.provider == job['vars']['providers']
