"""Three ZooKeeper servers with TLS, of which any one may fail."""

import logging
import os
import signal
import socket
import ssl

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from tests.chaos import transactions
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.process import waitFor
from zuul_nodes.quickstart.zookeeper import ZooKeeper

# Sessions may last from 2 ticks on.  The schedulers' outlives every fault.
CONFIG = '''\
tickTime=1000
initLimit=10
syncLimit=4
maxSessionTimeout=120000
snapCount=10000000
'''
# The directory of a server, by its number.
MEMBER = 'zookeeper-{}'
TIMEOUT = 60
ASK_TIMEOUT = 2
# Of a session, and of its beginning.
SESSION_TIMEOUT = 10
ANSWER_TIMEOUT = 15
log = logging.getLogger('chaos')


def readHistory(directory):
    """
    :param Path directory: of an ensemble that has been stopped.
    :return: a list of all transactions that were committed, in order.
    """
    return transactions.merge([
        list(transactions.read(data))
        for data in directory.glob(f'{MEMBER.format("*")}/data')])


class Member(ZooKeeper):
    """One server of an ensemble.

    :param int number: from 1 on.
    :param str peers: settings that name the servers of the ensemble.
    """

    def __init__(self, directory, certificates, number, port, peers):
        super().__init__(directory, certificates, port, is_durable=False)
        self.number = number
        self.peers = peers

    def start(self):
        """Start the server, and do not wait for it: it serves when most
        members run."""
        self.writeConfig(CONFIG + self.peers)
        (self.directory / 'data' / 'myid').write_text(str(self.number))
        self.process.start()

    def getMode(self):
        """:return: ``leader``, ``follower``, or None if it does not serve."""
        context = ssl.create_default_context(cafile=self.certificates.ca)
        context.load_cert_chain(self.certificates.client_cert,
                                self.certificates.client_key)
        try:
            with socket.create_connection(
                    (ports.LOOPBACK, self.port), ASK_TIMEOUT) as sock, \
                    context.wrap_socket(
                        sock, server_hostname=ports.LOOPBACK) as stream:
                stream.sendall(b'srvr')
                lines = stream.makefile().read().splitlines()
        except OSError:
            return None
        return next((line.split()[1] for line in lines
                     if line.startswith('Mode: ')), None)


class Ensemble:
    """
    :param Path directory: for all that the servers write.
    :ivar list members: the servers.
    :ivar str hosts: the addresses for clients.
    """

    def __init__(self, directory):
        self.certificates = Certificates(directory / 'certificates')
        numbers = range(1, 4)
        peers = ''.join(
            f'server.{number}={ports.LOOPBACK}:'
            f'{":".join(map(str, ports.freePorts(2)))}\n'
            for number in numbers)
        self.members = [
            Member(directory / MEMBER.format(number), self.certificates,
                   number, ports.freePort(), peers)
            for number in numbers]
        self.hosts = ','.join(member.hosts for member in self.members)

    def start(self):
        for member in self.members:
            member.start()
        self.wait()

    def wait(self):
        """Wait until all members serve."""
        waitFor(self.isComplete, 'the ensemble is not complete', TIMEOUT,
                [member.process for member in self.members],
                self.members[0].process.log_file)

    def isComplete(self):
        """:return: whether all members serve."""
        return all([member.getMode() for member in self.members])

    def getLeader(self):
        """:return: the leading member, or None while there is none."""
        return next((member for member in self.members
                     if member.getMode() == 'leader'), None)

    def restore(self):
        """Restart the leader if nothing is committed any more.

        Followers leave a leader that is suspended, and may come back to it.
        What it had proposed before, ZooKeeper 3.8.0 then neither commits nor
        gives up, and all later writes wait for that.
        """
        client = self.client(SESSION_TIMEOUT)
        try:
            # To begin a session is a write.
            client.start(ANSWER_TIMEOUT)
        except KazooTimeoutError:
            log.warning('The ensemble commits nothing; restarting its leader')
            leader = self.getLeader()
            leader.process.kill()
            leader.start()
            self.wait()
        finally:
            client.stop()
            client.close()

    def client(self, timeout):
        """:return: a client that is not started yet."""
        return KazooClient(
            hosts=self.hosts, timeout=timeout, use_ssl=True,
            ca=str(self.certificates.ca),
            certfile=str(self.certificates.client_cert),
            keyfile=str(self.certificates.client_key))

    def stop(self):
        for member in self.members:
            if member.process.alive:
                os.kill(member.process.pid, signal.SIGCONT)
            member.stop()
