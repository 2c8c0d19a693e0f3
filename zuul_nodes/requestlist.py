"""Requests for nodes as people see them, in the order of their queue.

Records of requests are dicts, as commands read them from ZooKeeper.  Services
that have Zuul's objects use :func:`toRecord`.
"""

from zuul_nodes import requestnotes

REQUESTS = '/zuul/nodeset/requests'
WAITING = 'requested'
FIELDS = (
    'uuid', 'tenant_name', 'pipeline_name', 'job_name', 'labels', 'state',
    'priority', 'relative_priority', 'request_time', 'provider_node_data')


def toRecord(request):
    """
    :param NodesetRequest request:
    :return: a dict with what the functions of this module need.
    """
    return {name: getattr(request, name) for name in FIELDS} | {
        requestnotes.NOTES: requestnotes.get(request)}


def getRank(record):
    """:return: what requests are served in order of; the least first."""
    # The revision's is the later one.
    return (record['priority'], record.get(
        'relative_priority', record.get('_relative_priority')),
        record['request_time'], record['uuid'])


def getPositions(records):
    """
    :param records: in their order.
    :return: dict, uuid of a request that waits -> its position among all that
        wait, from 1.
    """
    return {uuid: position for position, uuid in enumerate((
        each['uuid'] for each in records if each['state'] == WAITING), 1)}


def describe(record, wait, position, now):
    """
    :param Wait wait: why it waits, or None.
    :param position: among all that wait, or None.
    :param float now: seconds since the epoch.
    :return: a dict about a request: ``age`` is in seconds, ``failures`` are
        names of providers -> why they launched no node for it.
    """
    if record['state'] != WAITING:
        wait = None
    notes = record.get(requestnotes.NOTES) or {}
    return {
        'uuid': record['uuid'],
        'tenant': record['tenant_name'],
        'pipeline': record['pipeline_name'],
        'project': notes.get('project_canonical_name'),
        'job': record['job_name'],
        'labels': record['labels'],
        'state': record['state'],
        'age': round(now - record['request_time']),
        'reason': notes.get(requestnotes.REASON) or (wait and wait.reason),
        'ahead': wait and wait.ahead,
        'position': position,
        'failures': {
            provider: reason
            for entry in record['provider_node_data']
            for provider, reason in entry.get('reasons', {}).items()},
        'nodes': [{'uuid': entry['uuid']}
                  for entry in record['provider_node_data']
                  if entry['uuid']],
    }
