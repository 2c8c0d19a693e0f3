"""A scheduler with executors: makes requests, and uses and returns nodes."""

import dataclasses
import json
import logging
import random
import threading
import time
from typing import Any
import uuid

from kazoo.exceptions import KazooException, NoNodeError
from zuul.model import Node, NodeSet, NodesetRequest

from tests.chaos import site
from zuul_nodes import waits

# Requests that have not ended, and the mean number of requests per second.
MOST_OPEN = 24
RATE = 1.8
# Seconds for which nodes are used, and a request waits that is cancelled.
USE = (0.5, 3)
PATIENCE = (0.3, 6)
# The shares of requests that are cancelled, and of executors that die; and how
# often the priority of a waiting request changes, per second.
CANCELLED = 0.08
DYING = 0.05
REVISED = 0.05
PRIORITIES = {0: 15, 100: 65, 200: 20}
INTERVAL = 0.15
State = NodesetRequest.State
log = logging.getLogger('chaos')


@dataclasses.dataclass
class Job:
    """
    :ivar request_id: of its request.
    :ivar cancel_time: when it no longer needs its nodes, or None.
    :ivar is_dying: whether its executor dies instead of returning nodes.
    :ivar nodeset: that it uses, or None.
    :ivar end_time: when it has used them.
    :ivar is_lost: whether the scheduler does not know what became of its
        request, because a call was not answered.
    """
    request_id: str
    tenant: str
    cancel_time: float | None
    duration: float
    is_dying: bool
    nodeset: Any = None
    end_time: float = 0
    is_lost: bool = True


class Scheduler:
    """
    :param World world: where it makes requests.
    :param str seed: of its requests.
    :ivar dict jobs: id of a request -> a job that has not ended.
    :ivar list problems: what went wrong.
    :ivar int ended: how many requests have ended.
    """

    def __init__(self, world, seed):
        self.world = world
        self.client = world.client
        self.random = random.Random(seed)
        self.jobs = {}
        self.problems = []
        self.ended = 0
        self.is_submitting = True
        self._stop_event = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name='scheduler', daemon=True)
        self._next_time = 0

    def start(self):
        self._thread.start()

    def drain(self, timeout):
        """Submit no more, and wait until all requests have ended.

        :return: a list of those that have not, as text.
        """
        self.is_submitting = False
        end = time.monotonic() + timeout
        while self.jobs and time.monotonic() < end:
            time.sleep(INTERVAL)
        return [self._describe(job) for job in list(self.jobs.values())]

    def _describe(self, job):
        if job.nodeset:
            return f'nodes of request {job.request_id} are not returned'
        reason = waits.read(self.world.kazoo, job.tenant).get(job.request_id)
        return (f'request {job.request_id} of {job.tenant} does not end; the '
                f'reason is: {reason or "not recorded"}')

    def stop(self):
        self._stop_event.set()
        self._thread.join()

    def _run(self):
        while not self._stop_event.wait(INTERVAL):
            try:
                self._step()
            except KazooException as error:
                # An ensemble without a leader.
                log.info('The scheduler waits: %r', error)
            except Exception as error:
                log.exception('The scheduler has failed:')
                self.problems.append(f'the scheduler has failed: {error!r}')

    def _step(self):
        now = time.monotonic()
        if (self.is_submitting and now >= self._next_time
                and len(self.jobs) < MOST_OPEN):
            self._submit(now)
            self._next_time = now + self.random.expovariate(RATE)
        records = self._readRequests()
        for job in list(self.jobs.values()):
            if job.nodeset:
                if now >= job.end_time:
                    self._return(job)
            else:
                self._check(job, records[job.request_id], now)

    def _submit(self, now):
        chance = self.random
        labels, = chance.choices(list(site.SHAPES), site.SHAPES.values())
        priority, = chance.choices(list(PRIORITIES), PRIORITIES.values())
        tenant = chance.choice(site.TENANTS)
        duration = chance.uniform(*USE)
        patience = chance.uniform(*PATIENCE)
        is_cancelled = chance.random() < CANCELLED
        is_dying = chance.random() < DYING
        job = Job(uuid.uuid4().hex, tenant,
                  now + patience if is_cancelled else None, duration, is_dying)
        self.jobs[job.request_id] = job
        with self.world.context() as context:
            NodesetRequest.new(
                context, uuid=job.request_id, tenant_name=tenant,
                pipeline_name='check', labels=list(labels),
                priority=priority, request_time=time.time())
        job.is_lost = False

    def _readRequests(self):
        """:return: id -> record of each request, or None if it is gone."""
        answers = {
            job.request_id: self.world.kazoo.get_async(
                NodesetRequest._getPath(job.request_id))
            for job in self.jobs.values() if not job.nodeset}
        records = {}
        for request_id, answer in answers.items():
            try:
                raw, _ = answer.get()
            except NoNodeError:
                records[request_id] = None
            else:
                records[request_id] = json.loads(
                    NodesetRequest._decompressData(raw)[1])
        return records

    def _check(self, job, record, now):
        if job.is_lost:
            self._delete(job)
        elif record is None:
            self.problems.append(f'request {job.request_id} is gone')
            self._end(job)
        elif (record['state'] in NodesetRequest.FINAL_STATES and record[
                'event_state'] == NodesetRequest.EventState.COMPLETE):
            if record['state'] == State.FULFILLED:
                self._use(job)
            else:
                # No fault lasts long enough for all attempts to fail.
                self.problems.append(f'request {job.request_id} has failed')
                self._delete(job)
        elif job.cancel_time and now > job.cancel_time:
            self._delete(job)
        elif record['state'] == State.REQUESTED and (
                self.random.random() < REVISED * INTERVAL):
            self._revise(job)

    def _revise(self, job):
        if request := self.client.getRequest(job.request_id):
            self.client.reviseRequest(request, self.random.randint(0, 3))

    def _use(self, job):
        request = self.client.getRequest(job.request_id)
        nodeset = NodeSet()
        for number, label in enumerate(request.labels):
            nodeset.addNode(Node([f'node-{number}'], label))
        job.is_lost = True
        try:
            self.client.acceptNodeset(request, nodeset)
        except NoNodeError:
            self.problems.append(
                f'request {job.request_id} has a node that is gone, '
                f'of {request.nodes}')
            self._end(job)
            return
        job.nodeset = nodeset
        self.client.useNodeset(nodeset)
        job.end_time = time.monotonic() + job.duration

    def _return(self, job):
        if job.is_dying:
            # What the end of its session would do.
            with self.world.context() as context:
                for node in job.nodeset.getNodes():
                    if node._provider_node.hasLock():
                        node._provider_node.releaseLock(context)
        else:
            self.client.returnNodeset(job.nodeset)
        self._end(job)

    def _delete(self, job):
        if request := self.client.getRequest(job.request_id):
            self.client.deleteRequest(request)
        self._end(job)

    def _end(self, job):
        del self.jobs[job.request_id]
        self.ended += 1
