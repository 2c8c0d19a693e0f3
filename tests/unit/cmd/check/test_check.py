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
import requests
import yaml

from tests.fixtures.checkruns import NODES
from zuul_nodes.cmd.check import asking
from zuul_nodes.cmd.check import command as check
from zuul_nodes.cmd.check.asking import ask, askAll
from zuul_nodes.drivers import Check, Found, PermanentError
from zuul_nodes.exceptions import UserError

EXAMPLES = pathlib.Path(__file__).parents[4] / 'doc/source/examples'


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """:return: a function that runs the command and gives its exit status
        and what it has printed."""
    monkeypatch.setattr(check.plugin, 'install', lambda reading: True)
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
    from zuul_nodes.cmd.check import providers
    from zuul_nodes.drivers.fake import FakeDriver
    from zuul_nodes.testing import layout
    monkeypatch.setattr(
        providers, 'Connections',
        lambda config: layout.makeConnections(config, FakeDriver))


def test_nothing_is_wrong(command):
    status, printed = command('cloud')
    assert status == 0
    assert 'No problems' in printed.out


def test_what_is_wrong_is_in_the_table(command):
    status, printed = command('cloud', image='none', zone='c')
    assert status == 1
    assert 'There is no such image' in printed.out
    assert 'There is no such zone; the zones are a, b' in printed.out
    assert 'list instances' not in printed.out


def test_quota(command):
    status, printed = command('--format', 'json', 'cloud', instances=0)
    assert status == 1
    assert json.loads(printed.out) == [{
        'provider': 'cloud', 'object': 'label debian',
        'what': 'quota', 'name': 'debian',
        'problem': 'One node needs 1 of "instances", but the cloud allows '
                   '0', 'found': ''}]


def test_limits_of_the_provider(command):
    text = NODES.replace('    section: cloud\n', (
        '    section: cloud\n    resource-limits: {cores: 0}\n'))
    status, printed = command('--format', 'json', 'cloud', text=text)
    assert status == 1
    said, = json.loads(printed.out)
    assert said['problem'] == ('One node needs 1 of "cores", but '
                               '"resource-limits" of the provider allow 0')


def test_what_is_right_is_shown_if_wanted(command):
    status, printed = command('--all', '--format', 'json', 'cloud')
    assert status == 0
    assert {each['what']: each['problem']
            for each in json.loads(printed.out)} == {
        'permission': '', 'zone': '', 'quota': '', 'image': ''}
    assert json.loads(command('--format', 'json', 'cloud')[1].out) == []


def test_what_names_stand_for(command):
    status, printed = command('--found', '--format', 'json', 'cloud')
    assert status == 0
    assert [(each['name'], each['found'])
            for each in json.loads(printed.out)] == [('any', 'any')]
    header = command('--found', 'cloud')[1].out.splitlines()[1]
    assert header.split()[-2] == 'found'


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


def change(old, new, text=NODES):
    assert old in text
    return text.replace(old, new)


# A second provider of the same connection.
SECOND = change('- provider:\n    name: cloud', (
    '- provider:\n    name: second'), NODES[NODES.index('- provider'):])


def findWrong(command, *arguments, **options):
    """:return: rows of what is wrong, as a program reads them."""
    status, printed = command('--format', 'json', *arguments, **options)
    rows = json.loads(printed.out)
    assert status == (1 if rows else 0)
    return rows


@pytest.mark.parametrize('where', ['provider', 'stanza'])
def test_a_label_has_an_image_id_of_its_own(command, where):
    text = (change('az: ZONE', 'az: a, image-id: none')
            if where == 'provider' else
            # The image of the section would be stronger.
            change(', image-id: IMAGE', '', change(
                'flavor: small}\n', 'flavor: small, image-id: none}\n')))
    row, = findWrong(command, text=text)
    assert (row['object'], row['problem']) == (
        'image debian of label debian', 'There is no such image')


def test_a_value_that_no_label_uses_is_not_asked_for(command):
    text = change('az: ZONE', 'az: a, image-id: any')
    assert findWrong(command, image='none', text=text) == []


def test_what_several_labels_name_is_asked_once(command, monkeypatch):
    asked = []
    from zuul_nodes.drivers.fake import FakeAdapter

    def getChecks(adapter, spec):
        yield Check('image', 'debian', f'label {spec.label.name}',
                    lambda: asked.append(spec) or 'There is none')
    monkeypatch.setattr(FakeAdapter, 'getChecks', getChecks)
    text = change('- section', ''.join(
        f'- label: {{name: l{i}, image: debian, flavor: small}}\n'
        for i in range(3)) + '- section') + ''.join(
        f'      - l{i}\n' for i in range(3))
    text = change('labels: [{name: debian, az: ZONE}]', (
        'labels:\n      - debian'), text) + change(
            'az: ZONE', 'az: a', SECOND)
    row, = findWrong(command, text=text)
    assert len(asked) == 1
    assert row['provider'] == 'cloud, second'
    assert row['object'] == 'label debian, label l0, label l1, label l2'
    # The table is for people.
    printed = command(text=text)[1].out
    assert 'l1 and 1 more' in ' '.join(printed.replace('|', ' ').split())


def test_limits_and_zones_are_asked_for_once(command, monkeypatch):
    asked = []
    from zuul_nodes.drivers.fake import FakeAdapter
    for name in ('getLimits', 'listZones'):
        answer = getattr(FakeAdapter, name)
        monkeypatch.setattr(FakeAdapter, name, (
            lambda adapter, name=name, answer=answer:
            asked.append(name) or answer(adapter)))
    text = change('az: ZONE', 'availability-zones: [a, b]')
    assert findWrong(command, text=text + SECOND) == []
    assert sorted(asked) == ['getLimits', 'listZones']


def test_quota_is_asked_for_each_provider(command):
    """It is as small as a provider's own limits."""
    text = NODES + change(
        '    section: cloud\n',
        '    section: cloud\n    resource-limits: {cores: 0}\n', SECOND)
    row, = findWrong(command, text=text)
    assert (row['provider'], row['what']) == ('second', 'quota')


def test_an_endpoint_without_access_is_one_row(command):
    text = NODES + SECOND
    status, printed = command(
        '--format', 'json', text=text, failure_rate=1)
    row, = json.loads(printed.out)
    assert status == 1
    assert (row['provider'], row['object'], row['what']) == (
        'cloud, second', 'connection fake', 'permission')
    assert ('Asking 5 questions about the providers cloud, second ...'
            in printed.err)
    assert ('The connection fake gives no access: skipping 4 questions.'
            in printed.err)
    assert ('1 of 1 question found a problem. Skipped, without access: 4.'
            in command(text=text, failure_rate=1)[1].out)


def test_all_providers_of_files_are_checked_unless_some_are_named(command):
    text = NODES + change('az: ZONE', 'az: c', SECOND)
    assert [row['provider'] for row in findWrong(
        command, text=text)] == ['second']
    assert findWrong(command, 'cloud', text=text) == []


def test_a_provider_in_error_keeps_no_other_from_being_checked(command):
    text = NODES + change('section: cloud', 'section: clod', SECOND)
    row, = findWrong(command, text=text)
    assert (row['provider'], row['what']) == ('second', 'configuration')
    assert 'the provider "second" is in error: ' in row['problem']


def test_files_without_a_provider(command):
    status, printed = command(text='- label: {name: [}')
    assert status == 2
    status, printed = command(text='- image: {name: a, type: cloud}')
    assert status == 2
    assert 'there is no provider in ' in printed.err


def parse(*arguments):
    parser = argparse.ArgumentParser()
    check.addArguments(parser)
    args = parser.parse_args(arguments)
    check._sortArguments(args)
    return args.files, args.provider


def test_files_are_told_from_providers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ('a.yaml', 'b.yaml', 'local'):
        (tmp_path / name).touch()
    assert parse('a.yaml', 'b.yaml', './local', 'local', 'c.yaml') == (
        ['a.yaml', 'b.yaml', './local'], ['local', 'c.yaml'])
    assert parse('--files', 'a.yaml', 'b.yaml') == (['a.yaml', 'b.yaml'], [])


@pytest.mark.parametrize(('arguments', 'message'), [
    ((), 'name a provider of the running Zuul, or files'),
    (('--tenant', 'one', '/'), '--tenant selects a provider of the running')])
def test_arguments_that_say_nothing_to_check(arguments, message):
    with pytest.raises(UserError, match=message):
        parse(*arguments)


def test_a_question_without_answer_delays_no_other():
    never = threading.Event()

    error = OSError('no')

    def fail():
        raise error
    assert askAll([never.wait, lambda: '', fail], 0.1) == [
        'No answer within 0.1 s', '', error]
    never.set()


def makeProvider(said, **options):
    """:return: one that has a single question."""
    return makeProviderOf([Check('key', 'key', 'label', lambda: said)],
                          **options)


def makeProviderOf(checks, **options):
    return types.SimpleNamespace(
        name='cloud',
        driver=types.SimpleNamespace(name='other'),
        connection=types.SimpleNamespace(
            connection_name='cloud', connection_config=options),
        getEndpoint=lambda: types.SimpleNamespace(
            canonical_name='cloud/', start=lambda: None,
            listInstances=lambda: 1 / 0),
        getChecks=lambda: checks)


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


def fail(error):
    raise error


def askWithAccess(ask):
    """Ask about access in this way, and then something else.

    :return: name -> problem of each question, and how many were left out.
    """
    report = asking.ask([makeProviderOf([
        Check('cloud', 'cloud', 'connection', ask, access=True),
        Check('region', 'one', 'provider', lambda: '', access=True),
        Check('key', 'zuul', 'label', lambda: 'none')])], 10, io.StringIO())
    assert not report.errors
    return ({each.name: each.problem for each in report.results},
            report.left_out)


class LibraryError(Exception):
    """What the library of a cloud says of an answer."""


@pytest.mark.parametrize(('ask', 'said'), [
    (lambda: [].replace('', ''), (
        "AttributeError: 'list' object has no attribute 'replace'")),
    (lambda: {}['regions'], "KeyError: 'regions'"),
    (lambda: int('many'), 'ValueError: invalid literal'),
    (lambda: fail(RuntimeError('twice')), 'RuntimeError: twice'),
    (lambda: fail(SystemExit('bye')), 'SystemExit: bye'),
    (lambda: 7, 'the answer is no text: 7'),
    (lambda: [Check], 'the answer is no text: ['),
])
def test_a_mistake_in_a_check_keeps_no_other_from_being_asked(ask, said):
    problems, left_out = askWithAccess(ask)
    assert problems.pop('cloud').startswith(f'Not answered: {said}')
    assert (problems, left_out) == ({'one': '', 'zuul': 'none'}, 0)


@pytest.mark.parametrize(('error', 'said'), [
    (PermanentError('No such user'), 'No such user'),
    (ConnectionRefusedError('no'), 'ConnectionRefusedError: no'),
    (requests.ConnectTimeout('no'), 'ConnectTimeout: no'),
    (LibraryError('no'), 'LibraryError: no')])
def test_a_cloud_that_gives_no_access_is_asked_nothing_else(error, said):
    assert askWithAccess(lambda: fail(error)) == ({'cloud': said}, 2)


def test_a_found_name_need_not_be_a_text():
    report = asking.ask([makeProviderOf([Check(
        'image', 'debian', 'label', lambda: Found(7))])], 10, io.StringIO())
    assert [each.found for each in report.results] == ['7']


def yieldChecks():
    yield Check('key', 'one', 'label', lambda: '')
    raise KeyError('two')


def yieldOdd():
    yield Check('key', 'one', 'label', lambda: '')
    yield Check('key', 'two', 'label', lambda: '', ['no', 'hash'])


@pytest.mark.parametrize('makeChecks', [yieldChecks, yieldOdd])
def test_checks_that_cannot_be_made_keep_no_other_from_being_asked(
        makeChecks):
    report = asking.ask([makeProviderOf(makeChecks())], 10, io.StringIO())
    assert [each.name for each in report.results] == ['one']
    assert report.errors['cloud'].startswith(
        'the provider "cloud" cannot be checked: ')


def test_a_label_that_cannot_be_checked_keeps_no_other_from_it(
        command, monkeypatch):
    from zuul_nodes.drivers.fake import FakeAdapter
    getChecks = FakeAdapter.getChecks

    def getSome(adapter, spec):
        if spec.label.name == 'odd':
            raise KeyError('size')
        return getChecks(adapter, spec)
    monkeypatch.setattr(FakeAdapter, 'getChecks', getSome)
    text = change(
        'labels: [{name: debian, az: ZONE}]', 'labels: [odd, debian]',
        change('- section', (
            '- label: {name: odd, image: debian, flavor: small}\n'
            '- section')))
    rows = findWrong(command, image='none', text=text)
    assert [(row['what'], row['problem']) for row in rows] == [
        ('label', "Not answered: KeyError: 'size'"),
        ('image', 'There is no such image')]


def test_an_endpoint_that_cannot_be_started_is_one_row(
        command, monkeypatch):
    from zuul_nodes.drivers.fake import FakeAdapter
    monkeypatch.setattr(
        FakeAdapter, 'start', lambda adapter: fail(KeyError('cluster')))
    row, = findWrong(command)
    assert (row['what'], row['problem']) == (
        'permission', "KeyError: 'cluster'")


def test_a_driver_without_checks():
    provider = makeProvider('')
    del provider.getChecks
    said, progress = askOne(provider)
    assert said == 'Not answered: ZeroDivisionError: division by zero'
    assert 'The driver other has no checks. ' in progress
    assert 'Asking 1 question about' in progress


def test_number():
    assert [asking.count(number, 'question') for number in range(3)] == [
        '0 questions', '1 question', '2 questions']


def test_a_hanging_stop_does_not_delay_the_exit(command, monkeypatch):
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
    assert 'No answer within 1 s' in result.stdout


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
