"""Tokens by which AWS recognizes a repeated request.

A launcher may die after its request to AWS, before it updates the node's
record.  The next launcher repeats the request with the same token, and gets
the existing resource.
https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
"""

import hashlib
import json

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.aws import errors

NODE_TAG = 'zuul_node_uuid'
# Actions that create a resource of a node and accept a token.
ACTIONS = ('AllocateHosts', 'CreateFleet', 'RunInstances')


def install(client):
    """Have a client of EC2 send tokens, and raise errors of fleets.

    :param client: of boto3.
    """
    events = client.meta.events
    for action in ACTIONS:
        events.register(f'provide-client-params.ec2.{action}', addToken)
    events.register('after-call.ec2.CreateFleet', checkFleet)


def addToken(params, **kwargs):
    """:return: the parameters of a call, with its token."""
    tags = {tag['Key']: tag['Value']
            for specification in params.get('TagSpecifications', ())
            for tag in specification['Tags']}
    node_uuid = tags.get(NODE_TAG)
    if not node_uuid:
        return params
    return params | {'ClientToken': _makeToken(node_uuid, params)}


def _makeToken(node_uuid, params):
    """:return: a token, equal for the same node and the same place."""
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
    :raises DriverError: the fleet has no instance, which the call itself does
        not report as an error.
    """
    said = parsed.get('Errors')
    if parsed.get('Instances') or 'Error' in parsed or not said:
        return
    found = [errors.makeError(each.get('ErrorCode', ''),
                              each.get('ErrorMessage', '')) for each in said]
    # There is an error for each type and subnet.  Raise one that suggests to
    # wait or to try elsewhere, if there is any.
    raise min(found, key=_getRank)


def _getRank(error):
    return (not errors.isElsewhereBetter(error), not errors.isOfSpot(error),
            type(error) is DriverError)
