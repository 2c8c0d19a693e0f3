"""Tokens by which AWS knows that it has been asked for the same before.

A launcher may die after AWS has been asked, and before the record of the node
says so.  Then the next one asks again, with the same token, and gets what
there is.  https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
"""

import hashlib
import json

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.aws import errors

NODE_TAG = 'zuul_node_uuid'
# What makes something of a node, and takes a token.
ACTIONS = ('AllocateHosts', 'CreateFleet', 'RunInstances')


def install(client):
    """Have a client of EC2 say tokens, and fleets say why they fail.

    :param client: of boto3.
    """
    events = client.meta.events
    for action in ACTIONS:
        events.register(f'provide-client-params.ec2.{action}', addToken)
    events.register('after-call.ec2.CreateFleet', checkFleet)


def addToken(params, **kwargs):
    """:return: parameters of a call, with its token."""
    tags = {tag['Key']: tag['Value']
            for specification in params.get('TagSpecifications', ())
            for tag in specification['Tags']}
    node_uuid = tags.get(NODE_TAG)
    if not node_uuid:
        return params
    return params | {'ClientToken': _makeToken(node_uuid, params)}


def _makeToken(node_uuid, params):
    """:return: the same for the same node and the same place."""
    subnets = [interface.get('SubnetId') for interface
               in params.get('NetworkInterfaces', ())]
    place = [node_uuid, subnets, params.get('Placement'),
             params.get('AvailabilityZone'),
             params.get('InstanceMarketOptions', {}).get('MarketType'),
             params.get('TargetCapacitySpecification'),
             [(override.get('AvailabilityZone'), override.get('SubnetId'))
              for config in params.get('LaunchTemplateConfigs', ())
              for override in config['Overrides']]]
    text = json.dumps(place, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def checkFleet(parsed, **kwargs):
    """
    :raises DriverError: the fleet has no instance.  That is no error of the
        call.
    """
    said = parsed.get('Errors')
    if parsed.get('Instances') or 'Error' in parsed or not said:
        return
    found = [errors.makeError(each.get('ErrorCode', ''),
                              each.get('ErrorMessage', '')) for each in said]
    # There is one for each type and subnet; that which says to wait, or to
    # look elsewhere, goes first.
    raise min(found, key=_getRank)


def _getRank(error):
    return (not errors.isElsewhereBetter(error), not errors.isOfSpot(error),
            type(error) is DriverError)
