"""Providers that this launcher can't read.

Another launcher may have the driver or the connection that is missing here,
and what is wrong may be put right.  So what is known of them tells who is to
wait for them, and why.
"""

import typing
import urllib.parse

from kazoo.exceptions import KazooException, NoNodeError

from zuul_nodes.launcher.providers.failures import describe
from zuul_nodes.launcher.zookeeper import isProviderOfDriver, loadProvider


class Unreadable(typing.NamedTuple):
    """
    :ivar str problem: for people, what is wrong with it.
    :ivar frozenset label_names: of the labels that it has; None if that
        can't be read either.
    """
    problem: str
    label_names: frozenset | None = None

    def mayHave(self, label_name):
        return self.label_names is None or label_name in self.label_names

    def __str__(self):
        return self.problem


def isOfRecord(error):
    """:return: whether an error comes from what a record is like, or that
        there is none, and not from ZooKeeper."""
    return (isinstance(error, NoNodeError)
            or not isinstance(error, KazooException))


def examine(context, path, canonical_name, connections, error):
    """
    :param ZKContext context: to read with.
    :param str path: of the provider's record.
    :param ConnectionRegistry connections: the launcher's own.
    :param Exception error: that it can't be used for.
    :return: an Unreadable.
    :raises KazooException: that says nothing of the record.
    """
    project, _, _ = canonical_name.partition('/')
    whose = ('this launcher can not read this provider of project '
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
            f'{whose}: its record at {path} is broken ({describe(error)}); '
            'a reconfiguration of the tenant writes it anew')
    if not isProviderOfDriver(kind):
        name = kind.decode(errors='replace')
        problem = f'its driver {name} is not installed'
    elif connection_name not in connections.connections:
        problem = f'there is no connection {connection_name} in its zuul.conf'
    else:
        # Zuul would delete what it can't read, and fails at that, too.
        problem = describe(error.__context__ or error)
    return Unreadable(f'{whose}: {problem}', label_names)
