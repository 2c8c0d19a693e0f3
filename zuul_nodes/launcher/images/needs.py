"""The images that endpoints need, and the builds that are available."""

import collections
import dataclasses
import typing

from zuul_nodes.launcher.images.policy import findBad


class Need(typing.NamedTuple):
    """An image as the providers at an endpoint need it."""
    canonical_name: str
    format: str
    endpoint_name: str
    config_hash: str


@dataclasses.dataclass
class Wanted:
    """The providers with a need, and the hashes that fulfil it.

    :ivar dict providers: canonical names of providers, as keys.
    :ivar set hashes: possible hashes in records of uploads, also in the
        former format.
    """
    providers: dict = dataclasses.field(default_factory=dict)
    hashes: set = dataclasses.field(default_factory=set)


def getNeeds(layouts, schedule):
    """Collect the needs of the providers of all tenants.

    :param Layouts layouts: has the providers of all tenants.
    :param Schedule schedule: isolates errors of a provider.
    :return: a dict of Need -> Wanted.
    """
    needs = collections.defaultdict(Wanted)
    for provider in layouts.scope.providers:
        with schedule.isolate(provider):
            _addNeeds(needs, provider)
    return needs


def _addNeeds(needs, provider):
    endpoint_name = provider.getEndpoint().canonical_name
    for image in provider.images.values():
        # The images of some drivers have no format.
        image_format = getattr(image, 'format', None)
        if image.type == 'zuul' and image_format:
            wanted = needs[Need(image.canonical_name, image_format,
                                endpoint_name, image.zuul_config_hash)]
            wanted.providers[provider.canonical_name] = True
            wanted.hashes |= {image.zuul_config_hash, image.config_hash}


def getGood(builds, uploads):
    """Collect the artifacts that are neither rejected nor being deleted.

    :param builds: the cache of all artifacts.
    :param uploads: the cache of all uploads.
    :return: (canonical name of an image, format) -> list of artifacts.
    """
    bad = findBad(uploads.getItems())
    good = collections.defaultdict(list)
    for artifact in builds.getItems():
        # An artifact without a state is still getting its uploads.
        if (artifact.state != artifact.State.DELETING
                and artifact.uuid not in bad):
            good[artifact.canonical_name, artifact.format].append(artifact)
    return good


def findUploads(uploads, need, wanted):
    """
    :param uploads: the cache of all uploads.
    :return: a list of the uploads that fulfil a Need.
    """
    return [upload for upload in uploads.getUploadsForImage(
                need.canonical_name)
            if upload.endpoint_name == need.endpoint_name
            and upload.config_hash in wanted.hashes]
