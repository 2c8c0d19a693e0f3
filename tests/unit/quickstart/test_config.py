import configparser
import dataclasses
import stat

import pytest
import yaml

from zuul_nodes.nodeusers import User
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.config import Settings, writeConfig, writeZuulConf


@pytest.fixture
def settings(tmp_path):
    run = tmp_path / 'run'
    run.mkdir()
    sockets = tmp_path / 'sockets'
    sockets.mkdir()
    nodes = run / 'nodes'
    nodes.mkdir()
    return Settings(
        run=run, sockets=sockets, nodes=nodes, user=User(),
        weblogs=run / 'weblogs', weblogs_url='http://127.0.0.1:1',
        ansible=run / 'ansible',
        certificates=Certificates(tmp_path / 'certificates'),
        zookeeper_hosts='127.0.0.1:2', user_key=run / 'key',
        authorized_keys=run / 'authorized_keys',
        git_url='file:///git', web_port=3, finger_port=4,
        keystore_password='secret', auth_secret='hidden')


def read(path):
    # As Zuul reads it.
    config = configparser.ConfigParser()
    config.read(path)
    return config


def test_zuul_reads_what_was_meant(tmp_path, settings):
    path = tmp_path / 'zuul.conf'
    writeZuulConf(path, settings)
    config = read(path)
    assert config['keystore']['password'] == 'secret'
    assert config['scheduler']['tenant_config'] == str(
        settings.run / 'tenants.yaml')
    assert config['launcher']['embedded'] == 'true'
    assert config['web']['listen_address'] == '127.0.0.1'


def test_only_the_owner_reads_the_secrets(tmp_path, settings):
    path = tmp_path / 'zuul.conf'
    path.touch(0o644)
    writeZuulConf(path, settings)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_instance_has_other_sockets_and_nothing_else(
        tmp_path, settings):
    first, second = tmp_path / 'zuul.conf', tmp_path / 'zuul2.conf'
    writeZuulConf(first, settings)
    writeZuulConf(second, settings, '2')
    first, second = read(first), read(second)
    assert first.sections() == second.sections()
    different = {option for section in first.sections()
                 for option in first[section]
                 if first[section][option] != second[section][option]}
    assert different == {'command_socket', 'pidfile'}


def test_launcher_as_a_process_of_its_own(tmp_path, settings):
    settings = dataclasses.replace(settings, embedded=False)
    writeZuulConf(tmp_path / 'zuul.conf', settings)
    config = read(tmp_path / 'zuul.conf')
    assert config['launcher']['embedded'] == 'false'


def test_the_files_that_it_names(settings):
    writeConfig(settings)
    assert (settings.run / 'tenants.yaml').exists()
    assert (settings.run / 'site-variables.yaml').exists()
    assert (settings.sockets / 'builds').is_dir()


def test_the_node_is_this_machine(tmp_path, settings):
    """Only the operator can say so."""
    path = tmp_path / 'zuul.conf'
    writeZuulConf(path, settings)
    assert dict(read(path)['connection null']) == {
        'driver': 'static', 'hosts': '127.0.0.1'}


def test_nodes_of_images(tmp_path, settings):
    path = tmp_path / 'zuul.conf'
    writeZuulConf(path, settings)
    assert 'connection machine' not in read(path)
    settings = dataclasses.replace(settings, images=True)
    writeZuulConf(path, settings)
    section = read(path)['connection machine']
    assert section['driver'] == 'local'
    assert section['import_directories'] == str(settings.image_directory)
    assert section['authorized_keys'] == str(settings.authorized_keys)
    # Of the driver's choice: not root.
    assert 'user' not in section
    writeConfig(settings)
    tenant, guest = yaml.safe_load(
        (settings.run / 'tenants.yaml').read_text())
    assert guest['tenant']['name'] == 'guest'
    names = {next(iter(project)) if isinstance(project, dict) else project
             for project in
             tenant['tenant']['source']['git']['untrusted-projects']}
    assert names == {'images', 'demo'}
