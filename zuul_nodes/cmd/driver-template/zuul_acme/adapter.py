"""The adapter: translates Zuul's calls to those of acme."""

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

# State of a server in acme -> state of the node.
STATES = {
    'starting': State.BUILDING,
    'running': State.READY,
}


@contextlib.contextmanager
def translateErrors() -> Iterator[None]:
    """Translate the cloud's errors.

    Time-outs, broken connections and responses with a status of 5xx or 429
    are known to be temporary.  Any other error that is not translated here
    counts as one of the node's launch attempts.
    """
    try:
        yield
    except toycloud.LimitExceeded as error:
        raise QuotaError(str(error)) from error
    except toycloud.NotFound as error:
        raise PermanentError(str(error)) from error


class AcmeAdapter(Adapter):
    # Python reports the methods that an added ability requires.
    abilities = frozenset({
        Ability.UNIQUE_NAMES, Ability.LIMITS, Ability.IMAGES})
    # The formats that can be uploaded, the default first.
    image_formats = ('raw', 'qcow2')

    def start(self) -> None:
        # Create the client of a real cloud here, with self.timeout.
        self.cloud = toycloud.ToyCloud(self.connection.path)

    def createInstance(self, spec: InstanceSpec) -> Instance:
        # Request the server with all tags, and do not wait until it runs.
        with translateErrors(), contextlib.suppress(toycloud.AlreadyExists):
            self.cloud.createServer(
                spec.name, spec.image_id or spec.image.image_id,
                spec.flavor.size, spec.tags)
        # The toy identifies servers by name; most clouds return an id.
        return Instance(spec.name, State.BUILDING, spec.tags)

    def listInstances(self) -> Iterator[Instance]:
        # All servers of all pages: the launcher polls nodes with this list.
        for server in self.cloud.listServers():
            yield Instance(
                server['name'], STATES.get(server['status'], State.FAILED),
                server['tags'], address=server['address'])

    def deleteInstance(self, instance_id: str) -> None:
        # Deleting a missing server succeeds.
        with contextlib.suppress(toycloud.NotFound):
            self.cloud.deleteServer(instance_id)

    def getLimits(self) -> dict[str, float]:
        # The limits of the account, also "cores" and "ram" where known.
        return {'instances': self.cloud.getLimit()}

    def uploadImage(self, spec: ImageSpec, path: str) -> str:
        # Unlike createInstance, wait until the image can be used.
        with translateErrors():
            return self.cloud.uploadImage(spec.name, path, spec.tags)

    def listImages(self) -> Iterator[Resource]:
        # Include incomplete images, so that the launcher removes them.
        for image in self.cloud.listImages():
            yield Resource('image', image['id'], image['tags'])

    def deleteImage(self, image_id: str) -> None:
        with contextlib.suppress(toycloud.NotFound):
            self.cloud.deleteImage(image_id)
