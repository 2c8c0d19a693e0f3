"""Why labels that a tenant has are offered by no provider.

Schedulers know the errors in the configuration, and launchers have to say
why they serve no request for such a label.  So schedulers write down, for
each tenant, the errors of providers that should offer one.
"""

import json
import urllib.parse

from kazoo.exceptions import NoNodeError

ROOT = '/zuul/zuul-nodes/label-problems'
# Characters of each; whoever wants to know more looks at the configuration
# errors of the tenant.
LENGTH = 500


def publish(client, tenant_name, problems):
    """
    :param KazooClient client:
    :param dict problems: the name of a label -> what is wrong.
    """
    data = json.dumps({name: text[:LENGTH] for name, text in
                       problems.items()}, sort_keys=True).encode()
    try:
        if client.get(_getPath(tenant_name))[0] != data:
            client.set(_getPath(tenant_name), data)
    except NoNodeError:
        if problems:
            client.create(_getPath(tenant_name), data, makepath=True)


def read(client, tenant_name):
    """:return: as ``problems`` of :func:`publish`."""
    try:
        data, _ = client.get(_getPath(tenant_name))
    except NoNodeError:
        return {}
    return json.loads(data)


def _getPath(tenant_name):
    return f'{ROOT}/{urllib.parse.quote_plus(tenant_name)}'
