"""The part of the tenant configuration."""

from zuul_nodes.cmd.migrate.tree import Mapping, Sequence

# Zuul's default of "max-job-timeout", in seconds.
MAX_JOB_TIMEOUT = 10800
CONNECTION, CONFIG, NODES = 'REPLACE_ME_SOURCE', 'config', 'nodes'


def make(name, timeout):
    """
    :param str name: of the tenant.
    :param timeout: seconds of the longest job, or None if there are no jobs.
    :return: the stanza, as Mapping.
    """
    tenant = Mapping({'name': name,
                      # Labels that are not defined here are Nodepool's.
                      'use-nodepool': True})
    if timeout and timeout > MAX_JOB_TIMEOUT:
        tenant['max-job-timeout'] = timeout
    untrusted = Sequence([Mapping({NODES: Mapping({
        'include-provider-config': True})})])
    source = Mapping()
    if timeout:
        source['config-projects'] = Sequence([CONFIG])
        untrusted.add(Mapping({'zuul-nodes': Mapping({
            'include': Sequence(['job'])})}))
    source['untrusted-projects'] = untrusted
    tenant['source'] = Mapping({CONNECTION: source})
    return tenant
