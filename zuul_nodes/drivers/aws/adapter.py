"""What nodes need of a region: lists, and removals that come to an end."""

import math

from zuul.driver.aws import awsendpoint
from zuul.driver.aws.util import tag_list_to_dict

from zuul_nodes.drivers import Adapter, Instance, State
from zuul_nodes.drivers.aws import errors

# Of hosts that are not there any more.
RELEASED = ('released', 'released-permanent-failure')
GONE = ('terminated', 'deleted', *RELEASED)


class AwsAdapter(Adapter):
    """
    :param AwsEndpoint endpoint: that has the clients.
    """

    def __init__(self, endpoint):
        # Other than adapters usually, it has the endpoint's clients.
        self.endpoint = endpoint
        self.timeout = endpoint.connection.api_timeout

    @property
    def list_interval(self):
        """As Zuul's endpoint keeps other lists."""
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
        :return: yields an :class:`Instance` of each thing, with the
            ``data`` that AWS has of it.
        """
        zuuls = getattr(awsendpoint.AwsProviderEndpoint, method)
        with errors.translated():
            found = zuuls(self.endpoint)
        for thing in found:
            yield Instance(
                thing[key], State.DELETED if isGone(thing) else State.READY,
                tag_list_to_dict(thing.get('Tags')), data=thing)

    def deleteInstance(self, instance_id):
        """:return: a Future: it waits for others, to go with them in one
            call."""
        return self.endpoint.deleteInstance(instance_id)

    def deleteHost(self, host_id):
        self.endpoint.releaseHost(host_id)


def isGone(thing):
    """:return: whether AWS has a thing in a list that is there no more."""
    state = thing.get('State', '')
    name = state['Name'] if isinstance(state, dict) else state
    return name.lower() in GONE


def getLast(listing):
    """
    :param Listing listing: of one of the adapter's lists.
    :return: what AWS had when it was asked last; nothing if it has not
        answered yet.
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
