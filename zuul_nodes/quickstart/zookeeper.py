"""A ZooKeeper of our own, reachable over TLS on loopback only."""

import os
import pathlib
import socket
import ssl

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.ports import LOOPBACK
from zuul_nodes.quickstart.process import Process

# Where Debian's libzookeeper-java and what it depends on put their files.
# zookeeper.jar names most of what it needs itself, but not all.
JAR_DIRECTORY = pathlib.Path('/usr/share/java')
JARS = ('zookeeper-jute.jar', 'zookeeper.jar', 'netty-codec.jar',
        'slf4j-log4j12.jar', 'log4j-1.2.jar')

CONFIG = '''\
dataDir={data}
tickTime=2000
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort={port}
secureClientPortAddress={address}
ssl.keyStore.location={server_pem}
ssl.trustStore.location={ca}
admin.enableServer=false
maxClientCnxns=1000
forceSync={force_sync}
'''

LOG4J_CONFIG = '''\
log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c{1}: %m%n
'''


class ZooKeeper:
    """One ZooKeeper server.

    :param directory: its configuration and data; made if missing.
    :param Certificates certificates: the server's and the client's.
    :param int port: where it listens.
    :param dict environment: its environment; by default ours.
    :param log_file: its log; by default zookeeper.log in the directory.
    :param bool is_durable: whether what it has acknowledged outlives the
        machine, not only its process.  Without that, a write is several
        times quicker.
    :ivar str hosts: how a client addresses it.
    :ivar Process process: the server's process.
    """

    def __init__(self, directory, certificates, port, environment=None,
                 log_file=None, is_durable=True):
        self.directory = pathlib.Path(directory)
        self.certificates = certificates
        self.port = port
        self.hosts = f'{LOOPBACK}:{port}'
        self.is_durable = is_durable
        config = self.directory / 'zoo.cfg'
        class_path = [self.directory, *(JAR_DIRECTORY / jar for jar in JARS)]
        self.process = Process(
            'zookeeper',
            ['java', '-Xmx256m',
             # A short life and little work: start fast.
             '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC',
             '-Dzookeeper.jmx.log4j.disable=true',
             '-cp', ':'.join(str(path) for path in class_path),
             'org.apache.zookeeper.server.quorum.QuorumPeerMain', config],
            log_file or self.directory / 'zookeeper.log',
            environment or dict(os.environ))

    def start(self):
        """Returns when clients can connect.

        :raises Failure: it ended, or did not answer in time.
        """
        data = self.directory / 'data'
        data.mkdir(parents=True, exist_ok=True)
        (self.directory / 'zoo.cfg').write_text(CONFIG.format(
            data=data, port=self.port, address=LOOPBACK,
            server_pem=self.certificates.server_pem,
            ca=self.certificates.ca,
            force_sync='yes' if self.is_durable else 'no'))
        (self.directory / 'log4j.properties').write_text(LOG4J_CONFIG)
        self.process.start()
        self.process.waitFor(self._answers, 'it does not answer', 30)
        self._openSession()

    def _answers(self):
        context = ssl.create_default_context(cafile=self.certificates.ca)
        context.load_cert_chain(self.certificates.client_cert,
                                self.certificates.client_key)
        try:
            with socket.create_connection((LOOPBACK, self.port), 2) as sock, \
                    context.wrap_socket(sock, server_hostname=LOOPBACK):
                return True
        except OSError:
            return False

    def _openSession(self):
        client = self.client()
        try:
            client.start(timeout=15)
        except (KazooException, client.handler.timeout_exception) as error:
            raise Failure(f'zookeeper opens no session: {error}',
                          self.process.log_file) from error
        finally:
            client.stop()
            client.close()

    def client(self):
        """:return: a client that is not yet started."""
        return KazooClient(
            hosts=self.hosts, use_ssl=True, ca=str(self.certificates.ca),
            certfile=str(self.certificates.client_cert),
            keyfile=str(self.certificates.client_key))

    def stop(self):
        self.process.stop()
