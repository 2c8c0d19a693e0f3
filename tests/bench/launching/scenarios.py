"""What is measured: one function for each row of the table.

Each takes a function that makes a :class:`Stage` and the :class:`Sizes`,
and returns metric -> value; times are in seconds.
"""

import dataclasses
import statistics
import threading
import time

from kazoo.protocol.states import EventType
from zuul.model import NodesetRequest, ProviderNode

from tests.bench.launching.executor import Executors
from tests.bench.launching.layouts import STATIC, makeCloudText
from tests.bench.launching.records import ANNOUNCED, BEGUN
from zuul_nodes.quickstart.failure import Failure

FULFILLED = NodesetRequest.State.FULFILLED
QUOTA = 50
# How many launchers there are if there are several.
SEVERAL = 4
# For how long requests are served, at least, for the average to be one.
WAITING_TIME = 3


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much of everything."""
    samples: int = 10
    burst: int = 1000
    created: int = 500
    waiting: int = 2000
    few: int = 200
    many: int = 20000
    served: int = 300
    idle: int = 2000
    idle_time: int = 60
    building: int = 200


QUICK = Sizes(samples=3, burst=200, created=100, waiting=400, few=40,
              many=4000, served=100, idle=400, idle_time=15, building=40)


def measureReady(makeStage, sizes):
    """A request for a node that is ready, when nothing else happens."""
    times = []
    with makeStage() as stage:
        stage.setLayout(makeCloudText())
        stage.addNodes(sizes.samples)
        launcher = stage.startLauncher()
        for number in range(sizes.samples):
            stage.settle(launcher)
            (request_id, begin), = stage.addRequests(1).items()
            stage.waitFulfilled(number + 1)
            times.append(stage.requests.times[FULFILLED][request_id] - begin)
    return {'wall': statistics.median(times)}


def measureReuse(makeStage, sizes):
    """A static node given back, until it is ready again."""
    ready = ProviderNode.State.READY
    times = []
    with makeStage() as stage:
        stage.setLayout(STATIC)
        nodes = stage.watchNodes()
        launcher = stage.startLauncher()
        stage.wait(nodes, lambda: nodes.times.get(ready),
                   'the static node is not ready')
        node_id, = nodes.times[ready]
        for number in range(sizes.samples):
            request_id, = stage.addRequests(1)
            stage.waitFulfilled(number + 1, ANNOUNCED)
            nodeset = stage.accept(request_id)
            stage.settle(launcher)
            nodes.forget(ready, node_id)
            begin = time.perf_counter()
            stage.launcher_client.returnNodeset(nodeset)
            stage.wait(nodes, lambda: nodes.times.get(ready),
                       'the static node is not ready again')
            times.append(nodes.times[ready][node_id] - begin)
    return {'wall': statistics.median(times)}


def measureBurst(makeStage, sizes):
    """Many requests at once for as many nodes that are ready."""
    with makeStage() as stage:
        stage.setLayout(makeCloudText())
        stage.addNodes(sizes.burst)
        return _measureRequests(stage, sizes.burst)


def measureCreation(makeStage, sizes, creation_time=0, launchers=1):
    """Many requests at once for nodes that have to be made."""
    with makeStage(creation_time=creation_time) as stage:
        stage.setLayout(makeCloudText())
        return _measureRequests(stage, sizes.created, launchers)


def _measureRequests(stage, count, launchers=1):
    running = [stage.startLauncher(number + 1) for number in range(launchers)]
    for launcher in running:
        stage.settle(launcher)
    before = [stage.server.getUsage(launcher.pid) for launcher in running]
    begin = min(stage.addRequests(count).values())
    stage.waitFulfilled(count)
    # There is some work left when the requests have what they want.
    for launcher in running:
        stage.settle(launcher)
    used = [
        stage.server.getDifference(each, stage.server.getUsage(launcher.pid))
        for each, launcher in zip(before, running, strict=True)]
    return {'wall': max(stage.requests.get(FULFILLED).values()) - begin,
            'operations': sum(each.operations for each in used) / count,
            'writes': sum(each.writes for each in used) / count,
            'cpu': sum(each.cpu for each in used) / count}


def measureWaiting(makeStage, sizes, providers, waiting):
    """One served after the other, while many wait for the quota.

    Nodes are given back as soon as they are had; each request that is
    served is followed by a new one.
    """
    def getProgress(stage, executors, count):
        stage.waitFulfilled(count)
        if executors.failure:
            raise executors.failure
        return (time.perf_counter(), stage.countRequests(FULFILLED),
                stage.server.getUsage(launcher.pid), time.process_time())

    with makeStage() as stage:
        stage.setLayout(makeCloudText(providers, QUOTA))
        launcher = stage.startLauncher()
        with Executors(stage) as executors:
            stage.addRequests(QUOTA + waiting)
            # Not before there is a queue, and a routine.
            begin, first, before, own_begin = getProgress(
                stage, executors, 2 * QUOTA)
            end, last = begin, first
            while end - begin < WAITING_TIME:
                end, last, after, own_end = getProgress(
                    stage, executors, last + sizes.served)
        used = stage.server.getDifference(before, after)
    count = last - first
    return {'wall': (end - begin) / count, 'cpu': used.cpu / count,
            'operations': used.operations / count,
            'writes': used.writes / count,
            'executors': (own_end - own_begin) / count}


def measureIdle(makeStage, sizes):
    """Many nodes that are ready, and nobody who wants one."""
    with makeStage(session_timeout=10) as stage:
        stage.setLayout(makeCloudText())
        stage.addNodes(sizes.idle)
        launcher = stage.startLauncher()
        stage.settle(launcher)
        before = stage.server.getUsage(launcher.pid)
        # There is nothing to be observed: that is what is measured.
        time.sleep(sizes.idle_time)
        used = stage.server.getDifference(
            before, stage.server.getUsage(launcher.pid))
    return {'cpu': used.cpu * 60 / sizes.idle_time,
            'packets': used.packets * 60 / sizes.idle_time,
            'operations': used.operations * 60 / sizes.idle_time}


def measureKilled(makeStage, sizes, creation_time=5, session_timeout=6):
    """One of two launchers is killed while nodes are created."""
    expired = threading.Event()
    expiry = []

    def handleEvent(event):
        if event.type == EventType.DELETED:
            expiry.append(time.perf_counter())
            expired.set()

    with makeStage(creation_time=creation_time,
                   session_timeout=session_timeout) as stage:
        stage.setLayout(makeCloudText())
        nodes = stage.watchNodes()
        launchers = [stage.startLauncher(number) for number in (1, 2)]
        for launcher in launchers:
            stage.settle(launcher)
        begin = min(stage.addRequests(sizes.building).values())
        # Whoever has written that a node is being built may not yet have
        # asked for it.
        building = nodes.times.setdefault(BEGUN, {})
        stage.wait(nodes, lambda: len(building) >= sizes.building,
                   'the nodes are not created')
        stage.client.exists(stage.getComponentPath(launchers[0]),
                            watch=handleEvent)
        killed = time.perf_counter()
        launchers[0].kill()
        stage.processes.remove(launchers[0])
        stage.waitFulfilled(sizes.building)
        end = max(stage.requests.get(FULFILLED).values())
        if not expired.wait(stage.deadline - time.monotonic()):
            raise Failure('the session of a launcher does not expire')
        created = max(building.values()) + creation_time
    return {'wall': end - max(expiry[0], created), 'begun': killed - begin,
            'expired': expiry[0] - killed, 'served': end - killed}
