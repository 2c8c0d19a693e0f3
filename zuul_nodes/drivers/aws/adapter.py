"""The adapter of a region: lists and deletions for the framework."""

import math

from zuul.driver.aws import awsendpoint
from zuul.driver.aws.util import tag_list_to_dict

from zuul_nodes.drivers import Adapter, Instance, State
from zuul_nodes.drivers.aws import errors

# States of dedicated hosts that have been released.
RELEASED = ('released', 'released-permanent-failure')
GONE = ('terminated', 'deleted', *RELEASED)


class AwsAdapter(Adapter):
    """Calls a region on behalf of the framework.

    :param AwsEndpoint endpoint: that has the clients.
    """

    def __init__(self, endpoint):
        # Unlike other adapters, this one uses the endpoint's clients.
        self.endpoint = endpoint
        self.timeout = endpoint.connection.api_timeout

    @property
    def list_interval(self):
        """The lifetime of other lists in Zuul's endpoint."""
        return awsendpoint.CACHE_TTL

    def listInstances(self):
        return self._list('_listInstances', 'InstanceId')

    def listHosts(self):
        return self._list('_listHosts', 'HostId')

    def listVolumes(self):
        return self._list('_listVolumes', 'VolumeId')

    def _list(self, method, key):
        """
        :param str method: of Zuul's endpoint.
        :return: yields an :class:`Instance` for each resource, whose ``data``
            is the answer of AWS.
        """
        zuuls = getattr(awsendpoint.AwsProviderEndpoint, method)
        with errors.translated():
            found = zuuls(self.endpoint)
        for thing in found:
            yield Instance(
                thing[key], State.DELETED if isGone(thing) else State.READY,
                tag_list_to_dict(thing.get('Tags')), data=thing)

    def deleteInstance(self, instance_id):
        """:return: a Future, because several deletions share one call."""
        return self.endpoint.deleteInstance(instance_id)

    def deleteHost(self, host_id):
        self.endpoint.releaseHost(host_id)


def isGone(thing):
    """:return: whether a listed resource has been deleted already."""
    state = thing.get('State', '')
    name = state['Name'] if isinstance(state, dict) else state
    return name.lower() in GONE


def getLast(listing):
    """
    :param Listing listing: one of the adapter's lists.
    :return: the resources in the last list of AWS; empty if there is none
        yet.
    """
    return [each.data for each in listing.get(-math.inf) or ()]


def getKnown(listing):
    """
    :return: a list of what there is, or was not long ago.
    :raises Exception: nothing is known yet.
    """
    known = listing.get(0)
    return listing.getNow() if known is None else known


def getData(listing):
    """:return: as :func:`getKnown`, as AWS has it."""
    return [each.data for each in getKnown(listing)]
