"""What zuul-nodes adds to the records of requests.

Zuul's records lack the project of a request's job, whether its nodeset has
alternatives, and why a request has failed.  A Zuul without the plugin reads a
record with the additions like any other.  If it writes the record, the
additions are lost.
"""

from zuul_nodes import messages

# The attribute of a request, and the key in its record.
NOTES = 'zuul_nodes'
REASON = 'reason'
# How many alternatives the nodeset has that Zuul has not tried yet.
ALTERNATIVES = 'alternatives'
# Maximum length of a reason in characters: it is part of a build's result,
# which Zuul reports on changes.
LENGTH = 1000


def get(request):
    """
    :param NodesetRequest request:
    :return: a dict of the additions.
    """
    return getattr(request, NOTES, None) or {}


def hasAlternative(request):
    """:return: whether Zuul requests other nodes if the request fails."""
    return bool(get(request).get(ALTERNATIVES))


def withReason(request, reason):
    """
    :param NodesetRequest request:
    :param str reason: why it has failed.
    :return: a dict of the attributes of the request to write.
    """
    return {NOTES: get(request) | {
        REASON: messages.withoutOtherRequests(
            messages.forTenants(reason), {request.uuid})[:LENGTH]}}


def getReason(request):
    """
    :param request: of any class.
    :return: why it has failed, for its tenant, str; None if unknown.
    """
    return get(request).get(REASON)
