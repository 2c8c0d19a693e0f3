"""How fast a ready node could be given out on this machine, at best.

That takes three round trips: read the request; lock it and its node, see
that both locks are ours, and read the node; assign the node, fulfil the
request, tell the scheduler and unlock.  Only this, with kazoo, and no
launcher around it.
"""

import statistics
import time

from zuul.zk import ZooKeeperClient

RECORD = b'x' * 500
WARM_UP = 1000
LATENCIES = 100
PATHS = ('/requests', '/nodes', '/request-locks', '/node-locks', '/events')


def measureFloor(server, count):
    """
    :param int count: how many requests come at once.
    :return: metric -> value, with times in seconds.
    """
    server.makeRoot('floor')
    zk_client = ZooKeeperClient(
        f'{server.hosts}/floor', tls_ca=str(server.certificates.ca),
        tls_cert=str(server.certificates.client_cert),
        tls_key=str(server.certificates.client_key))
    zk_client.connect()
    try:
        return _measure(zk_client.client, count)
    finally:
        zk_client.disconnect()
        server.removeRoot('floor')


def _measure(client, count):
    for path in PATHS:
        client.ensure_path(path)
    numbers = range(WARM_UP + LATENCIES + count)
    for result in [client.create_async(f'{path}/{number}', RECORD)
                   for number in numbers for path in PATHS[:-1]]:
        result.get()
    # Java becomes faster while it works.
    _serve(client, numbers[:WARM_UP])
    times, writes = [], []
    for number in numbers[WARM_UP:WARM_UP + LATENCIES]:
        begin = time.perf_counter()
        _serve(client, [number])
        times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        client.set('/events', RECORD)
        writes.append(time.perf_counter() - begin)
    begin, cpu_begin = time.perf_counter(), time.process_time()
    _serve(client, numbers[-count:])
    wall = time.perf_counter() - begin
    cpu = time.process_time() - cpu_begin
    return {'ready': statistics.median(times), 'burst': wall,
            'cpu': cpu / count, 'write': statistics.median(writes)}


def _serve(client, numbers):
    """Give out nodes, to as many at once as there are."""
    def wait(results):
        return [result.get() for result in results]

    wait([client.get_async(f'/requests/{number}') for number in numbers])
    lock_paths = [path for number in numbers
                  for path in (f'/request-locks/{number}',
                               f'/node-locks/{number}')]
    locks = [client.create_async(f'{path}/lock-', ephemeral=True,
                                 sequence=True) for path in lock_paths]
    rest = [client.get_children_async(path) for path in lock_paths]
    rest += [client.get_async(f'/nodes/{number}') for number in numbers]
    locks = wait(locks)
    wait(rest)
    results = []
    for number, pair in zip(numbers, zip(locks[::2], locks[1::2],
                                         strict=True), strict=True):
        transaction = client.transaction()
        transaction.create(f'/nodes/{number}/assignment', RECORD)
        transaction.set_data(f'/requests/{number}', RECORD)
        transaction.create('/events/event-', RECORD, sequence=True)
        for lock in pair:
            transaction.delete(lock)
        results.append(transaction.commit_async())
    wait(results)
