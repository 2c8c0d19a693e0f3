"""Records of why no provider offers a label that a tenant has.

Schedulers know the errors in the configuration.  Launchers have to explain
why they decline a request for such a label.  For each tenant, schedulers
therefore write a record with the errors of providers that would offer labels.
"""

import json

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/label-problems'
# Maximum length of an error in characters; the tenant's configuration errors
# have the whole text.
LENGTH = 500


def publish(client, tenant_name, problems):
    """Write the record of a tenant, if it has changed.

    :param KazooClient client:
    :param dict problems: the name of a label -> the error.
    """
    data = json.dumps({name: text[:LENGTH] for name, text in
                       problems.items()}, sort_keys=True).encode()
    path = zkrecords.getPath(ROOT, tenant_name)
    known = zkrecords.read(client, path)
    if known != data and (problems or known is not None):
        zkrecords.write(client, path, data)


def read(client, tenant_name):
    """:return: the ``problems`` that :func:`publish` wrote."""
    data = zkrecords.read(client, zkrecords.getPath(ROOT, tenant_name))
    return json.loads(data) if data else {}
