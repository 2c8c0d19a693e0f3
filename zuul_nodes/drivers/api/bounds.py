"""Bounds that operators set for tenants at a connection, in ``zuul.conf``.

A tenant that configures a provider uses the credentials of its connection
within these bounds.  The configuration loader reports a provider that exceeds
a bound as an error.  A launcher, whose ``zuul.conf`` may differ, checks the
bounds again and ignores the provider.
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
        doc="""The tenants whose providers may use the connection, separated
        by commas; by default all.""",
    ): Nullable(str),
}


class BoundError(Exception):
    """A provider exceeds a bound.

    The message is a predicate that follows the name of the provider.
    """


def getNames(connection: BaseConnection, option: str,
             default: frozenset[str] | None = None) -> frozenset[str] | None:
    """Read a list of names from the section of a connection.

    :param connection: of any driver.
    :param option: in its section of ``zuul.conf``: names, separated by
        commas.
    :return: the names; the default if the option is not set.
    """
    text = (connection.connection_config or {}).get(option)
    if text is None:
        return default
    return frozenset(filter(None, re.split(r'[\s,]+', text)))


def check(connection: BaseConnection, tenant_name: str,
          config: Mapping[str, Any]) -> None:
    """Check the configuration of a provider against all bounds.

    :param connection: of the provider.
    :param tenant_name: the tenant of the provider.
    :param config: its flat configuration.
    :raises BoundError: the operator does not allow the configuration.
    """
    tenants = getNames(connection, TENANTS)
    # The message does not reveal the names of other tenants.
    if tenants is not None and tenant_name not in tenants:
        raise BoundError(
            f'{describe(connection, TENANTS)} does not list its tenant '
            f'"{tenant_name}"')
    check_bounds = getattr(connection.driver, 'checkBounds', None)
    if check_bounds:
        check_bounds(connection, config)


def checkNames(connection: BaseConnection, option: str,
               names: Iterable[object], what: str,
               always: Set[str] = frozenset()) -> None:
    """Check the names that a provider uses against an option.

    :param names: that a provider uses; None is ignored.
    :param option: lists the names that the operator allows, separated by
        commas; without it, all are allowed.
    :param what: words that precede a name in messages.
    :param always: names that are allowed even if the option omits them.
    :raises BoundError: one of the names is not allowed.
    """
    allowed = getNames(connection, option)
    if allowed is None:
        return
    for name in names:
        # In the specification of a pod, a name can have any type.
        if name and str(name) not in allowed | always:
            raise BoundError(f'{what} "{name}", which '
                             f'{describe(connection, option)} does not allow')


def checkBucket(connection: BaseConnection, option: str, bucket: str,
                url: str) -> None:
    """Check the bucket of an artifact against an option.

    :param option: as in :func:`checkNames`.
    :param url: of an artifact in the bucket.
    :raises PermanentError: the operator does not allow the bucket.
    """
    try:
        checkNames(connection, option, [bucket],
                   f'{url.partition("?")[0]} is in the bucket')
    except BoundError as error:
        raise PermanentError(str(error)) from None


def checkAddress(connection: BaseConnection, host: str, address: str) -> None:
    """Check an address before the launcher connects to it.

    :param connection: of a node.
    :param host: the address in the node's record, which may be a host name.
    :param address: the address of the host.
    :raises BoundError: the operator does not allow the address.
    """
    if check_address := getattr(connection.driver, 'checkAddress', None):
        check_address(connection, host, address)


def describe(connection: BaseConnection, option: str) -> str:
    """:return: the location of an option, for messages."""
    return (f'"{option}" of [connection {connection.connection_name}] in '
            'zuul.conf')
