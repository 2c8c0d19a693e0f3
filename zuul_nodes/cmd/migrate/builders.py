"""The labels on whose nodes images are built: one for each architecture.

Nodepool has a builder for each architecture, and says of no disk image which
one it has: what is known follows from words in its attributes.
"""

import collections
import re

from zuul_nodes.cmd.migrate.parts import ZUUL
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import Mapping

BUILDER = 'image-builder'
# What is meant if no word says so.
DEFAULT = 'amd64'
SYNONYMS = {'aarch64': 'arm64', 'ppc64el': 'ppc64le', 'x86-64': DEFAULT,
            'x86_64': DEFAULT}
WORD = re.compile(
    r'(?<![a-z0-9])(?:amd64|x86[-_]64|arm64|aarch64|ppc64le|ppc64el|s390x|'
    r'riscv64)(?![a-z0-9])', re.IGNORECASE)


class Builders:
    """Chooses a label for each architecture.

    :param Clouds clouds:
    :param dict images: name of a label -> name of its image.
    :param dict types: name of an image -> its type.
    :param Report report:
    """

    def __init__(self, clouds, images, types, report):
        self._clouds = clouds
        self._images = images
        self._types = types
        self._report = report
        self._chosen = {}
        # Providers of some clouds say it of their disk images.
        self._known = {
            name: str(entry['architecture']) for section in clouds.sections
            for name, entry in section.images.items()
            if 'architecture' in entry}

    def getArchitecture(self, image):
        """
        :param Mapping image: a disk image of Nodepool.
        :return: such as ``arm64``.
        """
        variables = image.get('env-vars')
        return findArchitecture(
            image.get('dib-cmd'), isinstance(variables, Mapping)
            and variables.get('ARCH'), self._known.get(image['name']),
            image['name'])

    def getMostFrequent(self, images):
        """:return: the architecture of most of the disk images."""
        counts = collections.Counter(map(self.getArchitecture, images))
        return counts.most_common(1)[0][0]

    def getLabel(self, architecture):
        """:return: the label on which images of that kind are built."""
        if architecture not in self._chosen:
            self._chosen[architecture] = self._choose(architecture)
        return self._chosen[architecture]

    def _choose(self, architecture):
        for offer in self._clouds.offers:
            if (offer.image and offer.image[0] != ZUUL
                    and self._types.get(self._images.get(offer.label)) != ZUUL
                    and findArchitecture(offer.label, offer.image[1])
                    == architecture):
                self._report.add(
                    Kind.DECIDE, f'The label "{offer.label}" builds the '
                    f'images for {architecture}, for it has an image that '
                    f'the cloud has already. Its nodes need "sudo" and room '
                    f'for some copies of an image', offer.origin)
                return offer.label
        label = (BUILDER if architecture == DEFAULT
                 else f'{BUILDER}-{architecture}')
        self._report.add(
            Kind.DECIDE, f'Images for {architecture} are built on nodes with '
            f'the label "{label}", which does not exist: all labels of the '
            f'site for {architecture} need images that have to be built '
            f'first. Define it with an image that the cloud has, or name a '
            f'label that Nodepool still serves')
        return label


def findArchitecture(*texts):
    """:return: the first architecture that one of the texts names, else
        :data:`DEFAULT`."""
    for text in texts:
        if match := WORD.search(str(text or '')):
            word = match[0].lower()
            return SYNONYMS.get(word, word)
    return DEFAULT
