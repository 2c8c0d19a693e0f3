"""Resource groups: where everything is."""

from tests.emulators.azure.core import (
    GROUP,
    SUBSCRIPTION,
    Refusal,
    Service,
    getGroup,
    route,
)
from tests.emulators.emulation import Answer


class ResourceGroups(Service):
    """
    :ivar dict resources: name in lower case -> group.
    """

    def __init__(self, azure):
        super().__init__(azure)
        self.resources = {}

    def add(self, name, location, tags=None):
        """:return: the new group."""
        group = self.resources[name.lower()] = {
            'id': f'/subscriptions/{self.azure.subscription}/resourceGroups/'
                  f'{name}',
            'name': name, 'type': 'Microsoft.Resources/resourceGroups',
            'location': location, 'tags': tags or {},
            'properties': {'provisioningState': 'Succeeded'}}
        return group

    def demand(self, name):
        """:raises Refusal: there is no such thing."""
        if name.lower() not in self.resources:
            raise Refusal(404, f"Resource group '{name}' could not be found.",
                          'ResourceGroupNotFound')
        return self.resources[name.lower()]

    @route('GET', SUBSCRIPTION + '/resourceGroups')
    def callList(self, request, subscription):
        return self.page(request, self.resources)

    @route('GET', GROUP)
    def callGet(self, request, subscription, group):
        self.azure.operations.look(request.path)
        return self.demand(group)

    @route('PUT', GROUP)
    def callPut(self, request, subscription, group):
        given = request.json
        status = 200 if group.lower() in self.resources else 201
        return Answer(status, self.add(
            group, given['location'], given.get('tags')))

    @route('DELETE', GROUP)
    def callDelete(self, request, subscription, group):
        """All that is in it goes, too."""
        resource = self.demand(group)

        def end():
            del self.resources[group.lower()]
            for collection in self.azure.collections:
                for key, each in list(collection.resources.items()):
                    if getGroup(key) == group.lower():
                        self.azure.operations.preempt(each)
                        collection.remove(key)
        operation = self.azure.operations.start(
            'resourceGroups.delete', resource, end)
        return Answer(202, headers=operation.headers)
