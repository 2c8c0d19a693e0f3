"""zuul.conf, the files that it refers to, and client.conf."""

import configparser
import dataclasses
import json
import pathlib
import shutil
import time

import jwt

from zuul_nodes.nodeusers import User
from zuul_nodes.quickstart.certificates import Certificates, writePrivate
from zuul_nodes.quickstart.ports import LOOPBACK
from zuul_nodes.quickstart.repositories import TENANTS, getTemplates
from zuul_nodes.quickstart.sshd import USER

TENANT = 'quickstart'
# Has the image of the first tenant, if there is one.
GUEST = 'guest'
# The authenticator for the tokens of people.
OPERATOR = 'zuul_operator'
CLIENT = 'zuul'
# Seconds for which the token in client.conf is valid.
TOKEN_AGE = 30 * 24 * 3600


@dataclasses.dataclass
class Settings:
    """The values that differ between quickstarts.

    :ivar run: the directory of files that belong to one run.
    :ivar sockets: a directory with a short path.
    :ivar nodes: a directory that the users of nodes can access.
    :ivar user: of the first node.
    :ivar weblogs: the directory of the builds' published logs.
    :ivar ansible: the directory of Ansible environments.
    :ivar user_key: the private key for logins to the nodes.
    :ivar authorized_keys: the public keys that the nodes accept.
    :ivar git_url: the URL of the directory of the repositories.
    :ivar embedded: whether the schedulers run a launcher.
    :ivar images: whether Zuul builds an image and launches nodes from it.
    """

    run: pathlib.Path
    sockets: pathlib.Path
    nodes: pathlib.Path
    user: User
    weblogs: pathlib.Path
    weblogs_url: str
    ansible: pathlib.Path
    certificates: Certificates
    zookeeper_hosts: str
    user_key: pathlib.Path
    authorized_keys: pathlib.Path
    git_url: str
    web_port: int
    finger_port: int
    keystore_password: str
    auth_secret: str
    embedded: bool = True
    images: bool = False

    @property
    def web_url(self):
        return f'http://{LOOPBACK}:{self.web_port}'

    @property
    def image_directory(self):
        """The directory for images, written by jobs and read by nodes."""
        return self.nodes / 'images'


def writeConfig(settings):
    """Write all files but zuul.conf, and create the directories that the
    services expect."""
    (settings.run / 'site-variables.yaml').write_text(json.dumps({
        'weblogs': {'directory': str(settings.weblogs),
                    'url': settings.weblogs_url},
        'images': {'directory': str(settings.image_directory)}}))
    *_, templates = getTemplates(settings.images)
    shutil.copyfile(templates / TENANTS, settings.run / TENANTS)
    settings.image_directory.mkdir()
    settings.user.give(settings.image_directory)
    (settings.run / 'executor').mkdir()
    (settings.sockets / 'builds').mkdir()


def writeZuulConf(path, settings, instance=''):
    """Write the configuration of all services.

    Several instances of a service need different sockets, and so each needs
    a file of its own, which does not differ otherwise.

    :param path: the file to write.
    :param str instance: suffix of the sockets' names.
    """
    def own(component):
        name = f'{component}{instance}'
        return {'command_socket': settings.sockets / f'{name}.socket',
                'pidfile': settings.sockets / f'{name}.pid'}

    sections = {
        'zookeeper': {
            'hosts': settings.zookeeper_hosts,
            # Seconds until ZooKeeper drops a killed service; Zuul uses 120.
            'session_timeout': 15,
            'tls_ca': settings.certificates.ca,
            'tls_cert': settings.certificates.client_cert,
            'tls_key': settings.certificates.client_key,
        },
        'database': {'dburi': f'sqlite:///{settings.run}/zuul.sqlite'},
        'keystore': {'password': settings.keystore_password},
        'scheduler': own('scheduler') | {
            'tenant_config': settings.run / TENANTS,
        },
        'launcher': own('launcher') | {
            # Runs in the scheduler, by a feature of zuul-nodes.
            'embedded': str(settings.embedded).lower(),
            'temp_dir': settings.run,
        },
        'executor': own('executor') | {
            'hostname': LOOPBACK,
            'finger_port': settings.finger_port,
            'state_dir': settings.run / 'executor',
            'git_dir': settings.run / 'executor' / 'git',
            # The sockets of shared ssh connections are below this directory.
            'job_dir': settings.sockets / 'builds',
            'private_key_file': settings.user_key,
            'default_username': USER,
            'variables': settings.run / 'site-variables.yaml',
            'trusted_rw_paths': settings.weblogs,
            'manage_ansible': 'false',
            'ansible_root': settings.ansible,
            # With two cores, the executor would otherwise stop accepting jobs
            # while the other services start.
            'load_multiplier': 100,
            'disk_limit_per_job': -1,
            'sigterm_method': 'stop',
        },
        'web': own('web') | {
            'listen_address': LOOPBACK,
            'port': settings.web_port,
            'root': settings.web_url,
        },
        'webclient': {'url': settings.web_url},
        # For the tokens of "zuul-admin create-auth-token", and ours.
        f'auth {OPERATOR}': {
            'driver': 'HS256',
            'allow_authz_override': 'true',
            'realm': 'zuul',
            'client_id': CLIENT,
            'issuer_id': OPERATOR,
            'secret': settings.auth_secret,
        },
        'connection git': {
            'driver': 'git',
            'baseurl': settings.git_url,
            'poll_delay': 1,
        },
        # Without this, the launcher's own machine cannot be a node.
        'connection null': {'driver': 'static', 'hosts': LOOPBACK},
    }
    if settings.images:
        sections['connection machine'] = _getMachine(settings)
    _writeSections(path, sections)


def writeClientConf(path, settings):
    """Write the configuration of ``zuul-client``, with a token that allows
    everything in our tenants.

    :param path: the file to write.
    """
    now = int(time.time())
    token = jwt.encode({
        'iat': now, 'exp': now + TOKEN_AGE, 'iss': OPERATOR, 'aud': CLIENT,
        'sub': USER, 'zuul': {'admin': [TENANT, GUEST]}},
        settings.auth_secret, 'HS256')
    _writeSections(path, {TENANT: {
        'url': settings.web_url, 'tenant': TENANT, 'auth_token': token}})


def _writeSections(path, sections):
    """Write a file for configparser, which contains secrets."""
    parser = configparser.ConfigParser()
    parser.read_dict(sections)
    # Create the file with restricted permissions first.
    writePrivate(path, b'')
    with open(path, 'a') as config:
        parser.write(config)


def _getMachine(settings):
    """:return: the section of the connection for nodes on this machine."""
    return {
        'driver': 'local',
        'directory': settings.nodes / 'machines',
        'import_directories': settings.image_directory,
        'authorized_keys': settings.authorized_keys,
    }
