"""A cloud for the conformance kit."""

import pathlib

from zuul_nodes.drivers.fake.cloud import Cloud

CONFIGURATION = '''
- image: {name: image, type: cloud}
- image: {name: built, type: zuul}
- flavor: {name: small}
- label: {name: label, image: image, flavor: small}
- label: {name: built, image: built, flavor: small}
- section:
    name: section
    connection: cloud
    images: [image, built]
    flavors: [{name: small, cores: 2}]
- provider:
    name: provider
    section: section
    images: [image, built]
    labels:
      - {name: label, host-key-checking: false}
      - {name: built, host-key-checking: false}
'''


class FakeCloud:
    """
    :param Path path: of the file that it is in.
    """

    configuration = CONFIGURATION

    def __init__(self, path):
        self.path = path
        self.connection = {'path': path}
        self.cloud = Cloud(path)

    def list(self):
        return [name for name, *_ in self.cloud.list()] + list(
            self.cloud.listImages())

    def addForeign(self):
        self.cloud.create('foreign', {}, 'a', {'instances': 1}, {})

    def setLimit(self, number):
        self.connection['instances'] = number


class SilentCloud(FakeCloud):
    """One that can cease to answer, if its adapter knows of that."""

    def setSilent(self):
        getSilencePath(self.path).touch()


def getSilencePath(path):
    """:return: of the file that is there when a cloud is silent."""
    return pathlib.Path(f'{path}.silent')
