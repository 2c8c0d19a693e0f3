"""What nodes of a label take: asked once, remembered for all launchers."""

from collections.abc import Callable, Mapping

from zuul.model import QuotaInformation
from zuul.provider import BaseProviderEndpoint, BaseProviderLabel

from zuul_nodes.drivers.api.errors import PermanentError

# What is remembered of what a cloud does not have, such as a flavor that was
# misspelt; the mark tells it from an answer.
MARK = 'unknown'
UNKNOWN = QuotaInformation(instances=1, **{MARK: 0})


def getKnownNeeds(endpoint: BaseProviderEndpoint,
                  key: str) -> QuotaInformation:
    """
    :param key: of the answer in the endpoint's quota cache.
    :raises KeyError: the cloud has not been asked yet.
    """
    needs = endpoint.quota_cache.getResource(key)
    needs.quota.pop(MARK, None)
    return needs


def refreshNeeds(endpoint: BaseProviderEndpoint, key: str, update: bool,
                 label: BaseProviderLabel,
                 getNeeds: Callable[[], Mapping[str, float]]) -> None:
    """
    :param key: as of :func:`getKnownNeeds`.
    :param update: whether to ask though the answer is known.
    :param getNeeds: called to ask; gives resource -> amount.
    :raises Exception: whatever that raises, but no
        :class:`~.errors.PermanentError`: nodes are not to wait for an end of
        that.  They fail, and say why.
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
