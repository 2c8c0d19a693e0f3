"""What Zuul needs of acme, in acme's own words."""

import contextlib
from collections.abc import Iterator

from zuul_nodes.drivers import (
    Ability,
    Adapter,
    ImageSpec,
    Instance,
    InstanceSpec,
    PermanentError,
    QuotaError,
    Resource,
    State,
)

from zuul_acme import toycloud

# What the cloud says of a server, and what that means for a node.
STATES = {
    'starting': State.BUILDING,
    'running': State.READY,
}


@contextlib.contextmanager
def translateErrors() -> Iterator[None]:
    """Say what errors of the cloud mean.

    Time-outs, broken connections and answers with a status of 5xx or 429
    are known to be temporary; what else is not said here uses up one of a
    node's attempts.
    """
    try:
        yield
    except toycloud.LimitExceeded as error:
        raise QuotaError(str(error)) from error
    except toycloud.NotFound as error:
        raise PermanentError(str(error)) from error


class AcmeAdapter(Adapter):
    # Add one, and Python says which methods it needs.
    abilities = frozenset({
        Ability.UNIQUE_NAMES, Ability.LIMITS, Ability.IMAGES})
    # What can be uploaded, the usual one first.
    image_formats = ('raw', 'qcow2')

    def start(self) -> None:
        # A real cloud's client goes here; give it self.timeout.
        self.cloud = toycloud.ToyCloud(self.connection.path)

    def createInstance(self, spec: InstanceSpec) -> Instance:
        # Ask for it, with all tags, and do not wait until it runs.
        with translateErrors(), contextlib.suppress(toycloud.AlreadyExists):
            self.cloud.createServer(
                spec.name, spec.image_id or spec.image.image_id,
                spec.flavor.size, spec.tags)
        # The toy knows servers by their names; most clouds give an id.
        return Instance(spec.name, State.BUILDING, spec.tags)

    def listInstances(self) -> Iterator[Instance]:
        # All of them, all pages; who waits for one finds it in here.
        for server in self.cloud.listServers():
            yield Instance(
                server['name'], STATES.get(server['status'], State.FAILED),
                server['tags'], address=server['address'])

    def deleteInstance(self, instance_id: str) -> None:
        # That it is gone already is no error.
        with contextlib.suppress(toycloud.NotFound):
            self.cloud.deleteServer(instance_id)

    def getLimits(self) -> dict[str, float]:
        # What the account may have; "cores" and "ram" can be there, too.
        return {'instances': self.cloud.getLimit()}

    def uploadImage(self, spec: ImageSpec, path: str) -> str:
        # Here one does wait until the image can be used.
        with translateErrors():
            return self.cloud.uploadImage(spec.name, path, spec.tags)

    def listImages(self) -> Iterator[Resource]:
        # Also those that are not complete, for they have to be removed.
        for image in self.cloud.listImages():
            yield Resource('image', image['id'], image['tags'])

    def deleteImage(self, image_id: str) -> None:
        with contextlib.suppress(toycloud.NotFound):
            self.cloud.deleteImage(image_id)
