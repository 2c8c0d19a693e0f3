import subprocess

import pytest
import yaml

from zuul_nodes.quickstart.repositories import Repositories, gitEnvironment


def create(tmp_path, images=False):
    repositories = Repositories(tmp_path / 'bare', tmp_path / 'checkouts')
    repositories.create(
        {'node_port': 2222, 'node_user': 'someone'}, images)
    return repositories


@pytest.fixture
def repositories(tmp_path):
    return create(tmp_path)


def git(directory, *command):
    return subprocess.run(
        ['git', *command], cwd=directory, check=True, text=True,
        stdout=subprocess.PIPE).stdout.strip()


@pytest.mark.parametrize('images, names, kinds', [
    (False, {'zuul-config', 'demo'}, set()),
    (True, {'zuul-config', 'guest-config', 'demo', 'images'},
     {'image', 'flavor', 'project-template'})])
def test_what_zuul_reads_is_valid_and_complete(
        tmp_path, images, names, kinds):
    repositories = create(tmp_path, images)
    assert names == {path.name for path in repositories.checkouts.iterdir()}
    objects = []
    for name in names:
        checkout = repositories.checkouts / name
        for path in checkout.rglob('*.yaml'):
            text = path.read_text()
            assert '${' not in text
            content = yaml.safe_load(text)
            if 'playbooks' not in path.parts:
                objects += [next(iter(entry)) for entry in content]
        published = git(repositories.directory / name, 'ls-tree', '-r',
                        '--name-only', 'master')
        assert published == git(checkout, 'ls-files')
    assert set(objects) == {'label', 'section', 'provider', 'pipeline',
                            'job', 'project', *kinds}


def test_the_node_is_filled_in(repositories):
    path = repositories.checkouts / 'zuul-config' / 'zuul.d' / 'nodes.yaml'
    node, = (node for entry in yaml.safe_load(path.read_text())
             for options in entry.values()
             for node in options.get('nodes', []))
    assert node['connection-port'] == 2222
    assert node['username'] == 'someone'


def test_people_without_a_name_can_commit(repositories):
    checkout = repositories.checkouts / 'demo'
    subprocess.run(
        ['git', 'commit', '--quiet', '--allow-empty', '--message=Again'],
        cwd=checkout, check=True, env=gitEnvironment())
    assert git(checkout, 'log', '-1', '--format=%an %s') == 'Quickstart Again'


def test_push(repositories):
    bare = repositories.directory / 'demo'
    before = git(bare, 'rev-parse', 'master')
    pushed = repositories.push('Once more')
    assert git(bare, 'rev-parse', 'master', 'master^').split() == [
        pushed, before]
    assert git(bare, 'log', '-1', '--format=%s') == 'Once more'


def test_the_users_git_configuration_does_not_matter(tmp_path, monkeypatch):
    (tmp_path / '.gitconfig').write_text(
        '[commit]\ngpgsign = true\n[user]\nsigningkey = none\n'
        '[core]\nhooksPath = /nowhere\n')
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('GIT_DIR', '/nowhere')
    Repositories(tmp_path / 'bare', tmp_path / 'checkouts').create(
        {'node_port': 1, 'node_user': 'x'})
