"""zuul.conf and the files that it names."""

import configparser
import dataclasses
import json
import pathlib
import shutil

from zuul_nodes.nodeusers import User
from zuul_nodes.quickstart.certificates import Certificates, writePrivate
from zuul_nodes.quickstart.ports import LOOPBACK
from zuul_nodes.quickstart.repositories import TENANTS, getTemplates
from zuul_nodes.quickstart.sshd import USER

TENANT = 'quickstart'
# It has the image of the first one, if there is one.
GUEST = 'guest'


@dataclasses.dataclass
class Settings:
    """What differs from one quickstart to the next.

    :ivar run: the directory of files that live as long as the run.
    :ivar sockets: a directory with a short path.
    :ivar nodes: a directory that the users of nodes get to.
    :ivar user: of the first node.
    :ivar weblogs: where the logs of builds are published.
    :ivar ansible: the directory of Ansible environments.
    :ivar user_key: the private key that opens the nodes.
    :ivar authorized_keys: the public keys that open the nodes.
    :ivar git_url: what the names of repositories are appended to.
    :ivar embedded: whether the schedulers run a launcher.
    :ivar images: whether Zuul builds an image, and makes nodes of it.
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
        """Where jobs leave images, and nodes are made of them."""
        return self.nodes / 'images'


def writeConfig(settings):
    """Write all files but zuul.conf, and make the directories that the
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

    A service that runs more than once needs other sockets each time, and
    so a file of its own, which differs in nothing else.

    :param path: the file to write.
    :param str instance: tells the sockets apart.
    """
    def own(component):
        name = f'{component}{instance}'
        return {'command_socket': settings.sockets / f'{name}.socket',
                'pidfile': settings.sockets / f'{name}.pid'}

    sections = {
        'zookeeper': {
            'hosts': settings.zookeeper_hosts,
            # Seconds until a killed service is forgotten, instead of 120.
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
            # In the scheduler: this is what zuul-nodes adds to Zuul.
            'embedded': str(settings.embedded).lower(),
            'temp_dir': settings.run,
        },
        'executor': own('executor') | {
            'hostname': LOOPBACK,
            'finger_port': settings.finger_port,
            'state_dir': settings.run / 'executor',
            'git_dir': settings.run / 'executor' / 'git',
            # The sockets of shared ssh connections are below it.
            'job_dir': settings.sockets / 'builds',
            'private_key_file': settings.user_key,
            'default_username': USER,
            'variables': settings.run / 'site-variables.yaml',
            'trusted_rw_paths': settings.weblogs,
            'manage_ansible': 'false',
            'ansible_root': settings.ansible,
            # On two cores the executor would stop to accept jobs while the
            # other services start.
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
        # For the tokens of "zuul-admin create-auth-token".
        'auth zuul_operator': {
            'driver': 'HS256',
            'allow_authz_override': 'true',
            'realm': 'zuul',
            'client_id': 'zuul',
            'issuer_id': 'zuul_operator',
            'secret': settings.auth_secret,
        },
        'connection git': {
            'driver': 'git',
            'baseurl': settings.git_url,
            'poll_delay': 1,
        },
        # Without this, no node may be the launcher's own machine.
        'connection null': {'driver': 'static', 'hosts': LOOPBACK},
    }
    if settings.images:
        sections['connection machine'] = _getMachine(settings)
    parser = configparser.ConfigParser()
    parser.read_dict(sections)
    # It has secrets: nobody else may read it.
    writePrivate(path, b'')
    with open(path, 'a') as config:
        parser.write(config)


def _getMachine(settings):
    """:return: the section of nodes that are made on this machine."""
    return {
        'driver': 'local',
        'directory': settings.nodes / 'machines',
        'import_directories': settings.image_directory,
        'authorized_keys': settings.authorized_keys,
    }
