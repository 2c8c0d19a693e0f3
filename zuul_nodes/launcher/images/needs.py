"""Where which image is needed, and which builds there are for that."""

import collections
import dataclasses
import typing

from zuul_nodes.launcher.images.policy import isBad
from zuul_nodes.launcher.images.schedule import groupByArtifact


class Need(typing.NamedTuple):
    """An image, as providers at an endpoint need it."""
    canonical_name: str
    format: str
    endpoint_name: str
    config_hash: str


@dataclasses.dataclass
class Wanted:
    """
    :ivar dict providers: their canonical names, as keys.
    :ivar set hashes: what records of uploads may say, also old ones.
    """
    providers: dict = dataclasses.field(default_factory=dict)
    hashes: set = dataclasses.field(default_factory=set)


def getNeeds(layouts, schedule):
    """
    :param Layouts layouts: with the providers of all tenants.
    :param Schedule schedule: of looks at what goes wrong.
    :return: dict of Need -> Wanted, of the providers of all tenants.
    """
    needs = collections.defaultdict(Wanted)
    for providers in layouts.tenant_providers.values():
        for provider in providers:
            with schedule.alone(provider):
                _addNeeds(needs, provider)
    return needs


def _addNeeds(needs, provider):
    endpoint_name = provider.getEndpoint().canonical_name
    for image in provider.images.values():
        # Images of some drivers have no format.
        image_format = getattr(image, 'format', None)
        if image.type == 'zuul' and image_format:
            wanted = needs[Need(image.canonical_name, image_format,
                                endpoint_name, image.zuul_config_hash)]
            wanted.providers[provider.canonical_name] = True
            wanted.hashes |= {image.zuul_config_hash, image.config_hash}


def getGood(builds, uploads):
    """
    :param builds: the cache of all artifacts.
    :param uploads: the cache of all uploads.
    :return: the canonical name of each image, and a format -> those of its
        artifacts that are not to be deleted, and not known to be bad.
    """
    by_artifact = groupByArtifact(uploads)
    good = collections.defaultdict(list)
    for artifact in builds.getItems():
        # Without a state, its uploads are being written.
        if (artifact.state != artifact.State.DELETING
                and not isBad(by_artifact[artifact.uuid])):
            good[artifact.canonical_name, artifact.format].append(artifact)
    return good


def findUploads(uploads, need, wanted):
    """
    :param uploads: the cache of all.
    :return: a list of those that are for a Need.
    """
    return [upload for upload in uploads.getUploadsForImage(
                need.canonical_name)
            if upload.endpoint_name == need.endpoint_name
            and upload.config_hash in wanted.hashes]
