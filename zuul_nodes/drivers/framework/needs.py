"""Resources that nodes of a label need; all launchers share the answers."""

from collections.abc import Callable, Mapping

from zuul.model import QuotaInformation
from zuul.provider import BaseProviderEndpoint, BaseProviderLabel

from zuul_nodes.drivers.api.errors import PermanentError

# The cached answer for what the cloud does not have, such as a misspelt
# flavor; the mark distinguishes it from other answers.
MARK = 'unknown'
UNKNOWN = QuotaInformation(instances=1, **{MARK: 0})


def getKnownNeeds(endpoint: BaseProviderEndpoint,
                  key: str) -> QuotaInformation:
    """
    :param key: of the answer in the endpoint's quota cache.
    :raises KeyError: the launchers have not asked the cloud yet.
    """
    needs = endpoint.quota_cache.getResource(key)
    needs.quota.pop(MARK, None)
    return needs


def refreshNeeds(endpoint: BaseProviderEndpoint, key: str, update: bool,
                 label: BaseProviderLabel,
                 getNeeds: Callable[[], Mapping[str, float]]) -> None:
    """Ask the cloud for the needs of a label unless the answer is cached.

    :param key: as of :func:`getKnownNeeds`.
    :param update: whether to ask even if the answer is cached.
    :param getNeeds: called to ask; returns resource -> amount.
    :raises Exception: an error of ``getNeeds``, except
        :class:`~.errors.PermanentError`, for which nodes need not wait: their
        launch fails with the reason.
    """
    cache = endpoint.quota_cache
    known = cache.getResource(key) if cache.hasResource(key) else UNKNOWN
    if known != UNKNOWN and not update:
        return
    try:
        needs = QuotaInformation(**getNeeds())
    except PermanentError as error:
        endpoint.log.warning('Label %s: %s', label.name, error)
        needs = UNKNOWN
    cache.setResource(key, needs)
