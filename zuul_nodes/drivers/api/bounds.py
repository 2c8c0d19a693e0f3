"""What operators allow tenants at a connection, in ``zuul.conf``.

A tenant that configures a provider has the credentials of its connection,
within these bounds.  A provider that is beyond one is an error
when its configuration is loaded.  A launcher, whose ``zuul.conf`` may be
another one, looks again and does without the provider.
"""

from collections.abc import Iterable, Mapping, Set
import re
from typing import Any

from zuul.connection import BaseConnection
from zuul.lib.voluputil import Nullable, Optional

from zuul_nodes.drivers.api.errors import PermanentError

TENANTS = 'tenants'
# For the connections of drivers that declare their options.
SCHEMA = {
    Optional(
        TENANTS,
        doc="""The tenants whose providers may use the connection, with
        commas between them; by default all.""",
    ): Nullable(str),
}


class BoundError(Exception):
    """A provider is beyond a bound; the message says which, in words that
    follow its name."""


def getNames(connection: BaseConnection, option: str,
             default: frozenset[str] | None = None) -> frozenset[str] | None:
    """
    :param connection: of any driver.
    :param option: in its section of ``zuul.conf``: names, with commas
        between them.
    :return: a frozenset of the names; the default if there is no such
        option.
    """
    text = (connection.connection_config or {}).get(option)
    if text is None:
        return default
    return frozenset(filter(None, re.split(r'[\s,]+', text)))


def check(connection: BaseConnection, tenant_name: str,
          config: Mapping[str, Any]) -> None:
    """
    :param connection: of a provider.
    :param tenant_name: whose provider it is.
    :param config: its flat configuration.
    :raises BoundError: the operator does not allow that.
    """
    tenants = getNames(connection, TENANTS)
    # The message does not tell a tenant who the others are.
    if tenants is not None and tenant_name not in tenants:
        raise BoundError(
            f'{describe(connection, TENANTS)} gives it to other tenants than '
            f'"{tenant_name}"')
    check_bounds = getattr(connection.driver, 'checkBounds', None)
    if check_bounds:
        check_bounds(connection, config)


def checkNames(connection: BaseConnection, option: str,
               names: Iterable[object], what: str,
               always: Set[str] = frozenset()) -> None:
    """
    :param names: that a provider has, or None among them.
    :param option: has those that the operator allows, with commas
        between them; without it, all are allowed.
    :param what: says of what a name is, in words before it.
    :param always: names that are allowed whatever the operator says.
    :raises BoundError: one of them is not allowed.
    """
    allowed = getNames(connection, option)
    if allowed is None:
        return
    for name in names:
        # In a pod's specification, it may be anything.
        if name and str(name) not in allowed | always:
            raise BoundError(f'{what} "{name}", which '
                             f'{describe(connection, option)} does not allow')


def checkBucket(connection: BaseConnection, option: str, bucket: str,
                url: str) -> None:
    """
    :param option: as in :func:`checkNames`.
    :param url: of an artifact that is in a bucket.
    :raises PermanentError: the operator does not allow that bucket.
    """
    try:
        checkNames(connection, option, [bucket],
                   f'{url.partition("?")[0]} is in the bucket')
    except BoundError as error:
        raise PermanentError(str(error)) from None


def checkAddress(connection: BaseConnection, host: str, address: str) -> None:
    """
    :param connection: of a node.
    :param host: what the node's record has for its address.
    :param address: that of the host, to which a connection is about to
        be made.
    :raises BoundError: the operator does not allow that.
    """
    if check_address := getattr(connection.driver, 'checkAddress', None):
        check_address(connection, host, address)


def describe(connection: BaseConnection, option: str) -> str:
    """:return: where the operator has set a bound, for a message."""
    return (f'"{option}" of [connection {connection.connection_name}] in '
            'zuul.conf')
