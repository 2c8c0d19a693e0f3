"""A private ZooKeeper, which listens with TLS on loopback only."""

import os
import pathlib
import socket
import ssl

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.ports import LOOPBACK
from zuul_nodes.quickstart.process import Process

# The directory of Debian's libzookeeper-java and its dependencies.  The class
# path in zookeeper.jar is incomplete.
JAR_DIRECTORY = pathlib.Path('/usr/share/java')
JARS = ('zookeeper-jute.jar', 'zookeeper.jar', 'netty-codec.jar',
        'slf4j-log4j12.jar', 'log4j-1.2.jar')

# Which versions of TLS it enables by default depends on its own version.
CONFIG = '''\
dataDir={data}
tickTime=2000
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort={port}
secureClientPortAddress={address}
ssl.keyStore.location={server_pem}
ssl.trustStore.location={ca}
ssl.enabledProtocols=TLSv1.2,TLSv1.3
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

    :param directory: for configuration and data; created if missing.
    :param Certificates certificates: of the server and the client.
    :param int port: the port to listen on.
    :param dict environment: its environment; by default ours.
    :param log_file: its log; by default zookeeper.log in the directory.
    :param bool is_durable: whether acknowledged writes survive a crash of the
        machine, not only of the process.  Without this, writes are several
        times faster.
    :ivar str hosts: the address for clients.
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
             # Optimize for a short life with little work.
             '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC',
             '-Dzookeeper.jmx.log4j.disable=true',
             '-cp', ':'.join(str(path) for path in class_path),
             'org.apache.zookeeper.server.quorum.QuorumPeerMain', config],
            log_file or self.directory / 'zookeeper.log',
            environment or dict(os.environ))

    def start(self):
        """Start the server and wait until clients can connect.

        :raises Failure: it ended, or did not answer in time.
        """
        self.writeConfig()
        self.process.start()
        # It takes a second, and a minute if others have the processor.
        self.process.waitFor(self._answers, 'it does not answer', 90)
        self._openSession()

    def writeConfig(self, more=''):
        """Write the files that the server reads when it starts.

        :param str more: settings that replace those of the same name.
        """
        data = self.directory / 'data'
        data.mkdir(parents=True, exist_ok=True)
        (self.directory / 'zoo.cfg').write_text(CONFIG.format(
            data=data, port=self.port, address=LOOPBACK,
            server_pem=self.certificates.server_pem,
            ca=self.certificates.ca,
            force_sync='yes' if self.is_durable else 'no') + more)
        (self.directory / 'log4j.properties').write_text(LOG4J_CONFIG)

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
        """:return: a client that is not started yet."""
        return KazooClient(
            hosts=self.hosts, use_ssl=True, ca=str(self.certificates.ca),
            certfile=str(self.certificates.client_cert),
            keyfile=str(self.certificates.client_key))

    def stop(self):
        self.process.stop()
