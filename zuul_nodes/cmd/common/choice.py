"""Find the tenant of a provider, and the error of a provider."""

import re

from zuul_nodes.configloader.errors import formatLocation
from zuul_nodes.exceptions import UserError
from zuul_nodes.suggestions import suggest


def choose(tenants, provider_name):
    """
    :param tenants: all tenants, with their layouts.
    :return: the tenant that has the provider, valid or in error.
    :raises UserError: no tenant has it, or several have.
    """
    found, known = [], set()
    for tenant in tenants:
        known.update(tenant.layout.provider_configs)
        if (provider_name in tenant.layout.provider_configs
                or findError(tenant.layout, provider_name)):
            found.append(tenant)
    if not found:
        raise UserError(f'no tenant has a provider "{provider_name}". '
                        f'{suggest(provider_name, known)}')
    if len(found) > 1:
        names = ', '.join(tenant.name for tenant in found)
        raise UserError(f'several tenants have a provider '
                        f'"{provider_name}": {names}. Choose one of them '
                        f'with --tenant')
    return found[0]


def findError(layout, provider_name):
    """
    :param Layout layout: the layout of a tenant.
    :return: the error of a provider, in one line; None if the provider is
        valid, or if Zuul reports no error for it.
    """
    if provider_name in layout.providers:
        return None
    # Only the text of an error names its stanza.
    stanza = re.compile(
        rf'the "{re.escape(provider_name)}" provider\s+stanza')
    for error in layout.loading_errors.errors:
        if stanza.search(error.error):
            message = f'{error.short_error} ({_getLocation(error.key)})'
            return ' '.join(message.split())
    return None


def _getLocation(key):
    if key.context is None:
        return 'at an unknown location'
    return formatLocation(key.context, key.mark.line + 1 if key.mark else None)
