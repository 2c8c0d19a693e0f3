"""Why labels that a tenant has are offered by no provider.

Schedulers know the errors in the configuration, and launchers have to say
why they serve no request for such a label.  So schedulers write down, for
each tenant, the errors of providers that should offer one.
"""

import json

from zuul_nodes import zkrecords

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
    path = zkrecords.getPath(ROOT, tenant_name)
    known = zkrecords.read(client, path)
    if known != data and (problems or known is not None):
        zkrecords.write(client, path, data)


def read(client, tenant_name):
    """:return: as ``problems`` of :func:`publish`."""
    data = zkrecords.read(client, zkrecords.getPath(ROOT, tenant_name))
    return json.loads(data) if data else {}
