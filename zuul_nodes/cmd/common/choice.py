"""Which tenant has a provider, and what is wrong with a provider."""

import re

from zuul_nodes.configloader.errors import formatLocation
from zuul_nodes.exceptions import UserError
from zuul_nodes.suggestions import suggest


def choose(tenants, provider_name):
    """
    :param tenants: all there are.
    :return: the one that has the provider, be it in error.
    :raises UserError: none has, or several.
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
    :param Layout layout: a tenant's.
    :return: why Zuul made nothing of a provider, in one line; None if it
        did, or if it does not say.
    """
    if provider_name in layout.providers:
        return None
    # That is all there is in an error to tell about whom it is.
    stanza = re.compile(
        rf'the "{re.escape(provider_name)}" provider\s+stanza')
    for error in layout.loading_errors.errors:
        if stanza.search(error.error):
            message = f'{error.short_error} ({_getPlace(error.key)})'
            return ' '.join(message.split())
    return None


def _getPlace(key):
    if key.context is None:
        return 'its place is not known'
    return formatLocation(key.context, key.mark.line + 1 if key.mark else None)
