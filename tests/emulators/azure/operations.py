"""What goes on.

https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
"""

import collections
import dataclasses
import typing
import uuid

from tests.emulators.azure.core import (
    SUBSCRIPTION,
    Refusal,
    Service,
    link,
    route,
)

VERSION = '2025-11-01'


@dataclasses.dataclass
class Operation:
    """
    :ivar str kind: "virtualMachines.create".
    :ivar dict resource: with which it goes on.
    :ivar end: what it does in the end; gives its output, or None.
    :ivar path: where it is looked at.
    :ivar polls: how many looks do not see its end, None for all.
    :ivar dict error: that it ends with, or None.
    """

    kind: str
    resource: dict
    end: typing.Callable
    path: str
    polls: int | None
    error: dict | None = None
    status: str = 'InProgress'
    output: dict | None = None

    @property
    def headers(self):
        return {'Azure-AsyncOperation': link(self.path, VERSION),
                'Retry-After': '0'}

    def look(self):
        if self.status == 'InProgress' and self.polls is not None:
            if self.polls == 0:
                self.finish()
            else:
                self.polls -= 1

    def finish(self):
        properties = self.resource['properties']
        if self.error:
            self.status = properties['provisioningState'] = 'Failed'
            return
        self.status = properties['provisioningState'] = 'Succeeded'
        self.output = self.end()


class Operations(Service):
    """
    :ivar dict polls: kind -> how many looks do not see its end, None for
        all; by default 1.
    :ivar dict failures: kind -> list of errors of the next ones.
    :ivar dict errors: id of a resource in lower case -> the error that its
        last operation was given.
    """

    def __init__(self, azure):
        super().__init__(azure)
        self.polls = {}
        self.failures = collections.defaultdict(list)
        # Id of a resource in lower case -> the error that it was made with.
        self.errors = {}
        self._operations = {}
        self._running = []

    def start(self, kind, resource, end):
        """
        :param end: what it does in the end; gives its output.
        :return: the new :class:`Operation`.
        """
        path = (f'/subscriptions/{self.azure.subscription}/providers/'
                f'{resource["type"].partition("/")[0]}/locations/'
                f'{resource["location"]}/operations/{uuid.uuid4()}')
        failures = self.failures[kind]
        self.errors[resource['id'].lower()] = failures[0] if failures else None
        operation = self._operations[path.lower()] = Operation(
            kind, resource, end, path, self.polls.get(kind, 1),
            failures.pop(0) if failures else None)
        self._running.append(operation)
        if operation.polls == 0:
            operation.finish()
        return operation

    def _getRunning(self, resource_id):
        self._running = [each for each in self._running
                         if each.status == 'InProgress']
        return [each for each in self._running
                if each.resource['id'].lower() == resource_id.lower()]

    def getRunning(self, kind, resource):
        """:return: the one of this kind that goes on, or None."""
        return next((each for each in self._getRunning(resource['id'])
                     if each.kind == kind), None)

    def look(self, resource_id):
        """What goes on with the resource goes on."""
        for operation in self._getRunning(resource_id):
            operation.look()

    def finish(self, name):
        """What goes on with the resource of this name is done."""
        for operation in self._running:
            if (operation.resource['name'] == name
                    and operation.status == 'InProgress'):
                operation.finish()

    def preempt(self, resource):
        """What goes on with the resource is given up."""
        for operation in self._getRunning(resource['id']):
            operation.status = 'Canceled'
            operation.error = {
                'code': 'OperationPreempted',
                'message': 'Operation execution has been preempted by a more '
                           'recent operation.'}

    @route('GET', SUBSCRIPTION
           + '/providers/{provider}/locations/{location}/operations/{name}')
    def callGet(self, request, name, **place):
        operation = self._operations.get(request.path.lower())
        if operation is None:
            raise Refusal(404, f"The operation '{name}' was not found.")
        operation.look()
        answer = {'name': name, 'status': operation.status}
        if operation.error and operation.status != 'InProgress':
            answer['error'] = operation.error
        if operation.output:
            answer['properties'] = {'output': operation.output}
        return answer
