"""Operations: what a change of the cloud goes through.

A job is what goes on at a resource, and what an operation shows of it.  It
goes on when somebody looks: at the operation, or at the resource, alone or
in a list.
"""

import collections
from collections.abc import Callable
import dataclasses
import functools
import http

from tests.emulators.gce.core import Collection, call, newID, now

# code of an error -> the operation's status of HTTP.
CODES = {'QUOTA_EXCEEDED': 403, 'RESOURCE_POOL_EXHAUSTED': 503,
         'ZONE_RESOURCE_POOL_EXHAUSTED': 503,
         'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS': 503,
         'INTERNAL_ERROR': 500, 'RESOURCE_NOT_FOUND': 404}


class Failure(Exception):
    """A job fails; the operation tells that.

    :param str code: "QUOTA_EXCEEDED" and so on.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


def doNothing():
    pass


@dataclasses.dataclass(eq=False)
class Job:
    """
    :ivar int polls: how often it is looked at until it has ended; None:
        until :meth:`GCE.finish`.
    :ivar begin: is called when the operation is RUNNING.
    :ivar finish: is called at the end.
    :ivar undo: is called instead of or after finish, if it fails.
    """

    target: str
    operation_path: str
    operation: dict
    polls: int | None
    begin: Callable
    finish: Callable
    undo: Callable
    failure: Failure | None


class Jobs:
    """
    :ivar dict polls: "instances.insert" and so on -> how often a new
        operation is looked at until it is DONE; 0 for at once, None for
        until :meth:`GCE.finish`.  It is 1 for what is not in it.
    :ivar dict failures: "instances.insert" and so on -> list of a
        :class:`Failure` for each of the next operations.
    """

    def __init__(self, gce):
        self.gce = gce
        self.polls = collections.defaultdict(lambda: 1)
        self.failures = collections.defaultdict(list)
        # Of the path of a resource, or of an operation.
        self._jobs = collections.defaultdict(list)

    def start(self, kind, target, begin=doNothing, finish=doNothing,
              undo=doNothing, failure=None, **fields):
        """
        :param str kind: "instances.insert" and so on.
        :param str target: path of the resource.
        :param begin: see :class:`Job` for this and the others.
        :param Failure failure: it fails with this at the end.
        :param fields: of the operation, that are not as usual.
        :return: the operation.
        """
        collection, place = self._findCollection(target)
        operation = collection.add(f'operation-{newID()}', {
            'operationType': kind.partition('.')[2], 'status': 'PENDING',
            'targetLink': self.gce.link(target), 'targetId': newID(),
            'user': 'zuul@example.com', 'progress': 0, 'insertTime': now(),
            **fields}, **place)
        if failure is None and self.failures[kind]:
            failure = self.failures[kind].pop(0)
        job = Job(target, collection.getPath(operation['name'], **place),
                  operation, self.polls[kind], begin, finish, undo, failure)
        for path in (job.target, job.operation_path):
            self._jobs[path].append(job)
        if job.polls == 0:
            self._begin(job)
            self._end(job)
        return operation

    def _findCollection(self, target):
        _, project, scope, *rest = target.split('/')
        if scope == 'zones':
            return self.gce.zone_operations, {
                'project': project, 'zone': rest[0]}
        return self.gce.global_operations, {'project': project}

    def look(self, path):
        for job in list(self._jobs.get(path, ())):
            if job.polls == 0:
                self._end(job)
            elif job.polls is not None:
                job.polls -= 1
                if job.polls == 0:
                    self._begin(job)

    def wait(self, path):
        """Let it come to its end, unless it is held."""
        for job in list(self._jobs.get(path, ())):
            if job.polls is not None:
                self._finish(job)

    def finish(self, name):
        """
        :param str name: of a resource or an operation, or its path.
        """
        for path in list(self._jobs):
            if name in (path, path.rpartition('/')[2]):
                for job in list(self._jobs.get(path, ())):
                    self._finish(job)

    def _finish(self, job):
        self._begin(job)
        self._end(job)

    def _begin(self, job):
        if job.operation['status'] == 'PENDING':
            job.operation.update(status='RUNNING', startTime=now())
            job.begin()

    def _end(self, job):
        if job.operation['status'] == 'DONE':
            # The resource has gone, with another one.
            return
        self._close(job)
        try:
            if job.failure is not None:
                raise job.failure
            job.finish()
        except Failure as failure:
            job.undo()
            status = CODES.get(failure.code, 400)
            job.operation.update({
                'httpErrorStatusCode': status,
                'httpErrorMessage': http.HTTPStatus(status).phrase.upper(),
                'error': {'errors': [{'code': failure.code,
                                      'message': failure.message}]}})


    def _close(self, job):
        for path in (job.target, job.operation_path):
            self._jobs[path].remove(job)
            if not self._jobs[path]:
                del self._jobs[path]
        job.operation.update(status='DONE', progress=100, endTime=now())

    def close(self, target):
        """The resource is gone: nothing goes on there any more."""
        for job in list(self._jobs.get(target, ())):
            self._close(job)


class Operations(Collection):
    kind = 'operation'

    @call('POST', '/{name}/wait')
    def wait(self, request, **place):
        path = self.getPath(**place)
        self.gce.jobs.wait(path)
        return self.demand(path)


class ZoneOperations(Operations):
    name = 'zoneOperations'
    path = '/projects/{project}/zones/{zone}/operations'


class RegionOperations(Operations):
    name = 'regionOperations'
    path = '/projects/{project}/regions/{region}/operations'


class GlobalOperations(Operations):
    name = 'globalOperations'
    path = '/projects/{project}/global/operations'


class Changeable:
    """Mixed into collections whose resources come and go with jobs."""

    def startDelete(self, path, status):
        """
        :param str status: of the resource meanwhile.
        :return: the operation.
        """
        resource = self.demand(path)
        before = resource['status']
        resource['status'] = status
        return self.gce.jobs.start(
            f'{self.name}.delete', path,
            finish=functools.partial(self.remove, path),
            undo=functools.partial(resource.update, status=before))

    def remove(self, path):
        """:return: the resource that is gone."""
        self.gce.jobs.close(path)
        return self.resources.pop(path)
