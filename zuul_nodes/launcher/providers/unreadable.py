"""Describes providers that this launcher cannot read.

Another launcher may have the driver or the connection that is missing here,
and the cause may be corrected later.  So the launcher finds out which requests
may wait for the provider, and why.
"""

import typing
import urllib.parse

from kazoo.exceptions import KazooException, NoNodeError

from zuul_nodes.launcher.providers.failures import describe
from zuul_nodes.launcher.zookeeper import isProviderOfDriver, loadProvider


class Unreadable(typing.NamedTuple):
    """A provider that this launcher cannot read.

    :ivar str problem: what is wrong, for users.
    :ivar frozenset label_names: names of its labels; None if they cannot be
        read either.
    :ivar str connection_name: the name of its connection; None if that cannot
        be read either, so that no launcher can launch its nodes.
    """
    problem: str
    label_names: frozenset | None = None
    connection_name: str | None = None

    def mayHave(self, label_name):
        return self.label_names is None or label_name in self.label_names

    def mayBeAt(self, endpoint):
        """:return: whether another launcher may have the provider at an
            endpoint."""
        return self.connection_name == endpoint.connection.connection_name

    def __str__(self):
        return self.problem


def isOfRecord(error):
    """:return: whether an error is caused by the content or the absence of a
        record, not by ZooKeeper."""
    return (isinstance(error, NoNodeError)
            or not isinstance(error, KazooException))


def examine(context, path, canonical_name, connections, error):
    """Find out why a provider cannot be read.

    :param ZKContext context: for reading.
    :param str path: of the provider's record.
    :param ConnectionRegistry connections: the launcher's own.
    :param Exception error: raised when the provider was read.
    :return: an Unreadable.
    :raises KazooException: ZooKeeper cannot be read, which tells nothing about
        the record.
    """
    project, _, _ = canonical_name.partition('/')
    prefix = ('this launcher cannot read this provider of project '
              f'{urllib.parse.unquote_plus(project)}')
    try:
        kind, record = loadProvider(context, path)
        connection_name = record['connection_name']
        label_names = frozenset(
            label['name'] for label in record['config']['labels'])
    except Exception as reason:
        if not isOfRecord(reason):
            raise
        return Unreadable(
            f'{prefix}: its record at {path} is broken ({describe(error)}); '
            'reconfigure the tenant to rewrite it')
    if not isProviderOfDriver(kind):
        name = kind.decode(errors='replace')
        problem = f'its driver {name} is not installed'
    elif connection_name not in connections.connections:
        problem = f'there is no connection {connection_name} in its zuul.conf'
    else:
        # Zuul tries to delete a provider that it cannot read, and that
        # fails as well; the context is the first error.
        problem = describe(error.__context__ or error)
    return Unreadable(f'{prefix}: {problem}', label_names, connection_name)
