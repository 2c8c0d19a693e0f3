"""Find the images in the results of builds.

The author of a job controls its results, so every value is checked.
"""

import dataclasses
import re

from zuul.lib.result_data import get_artifacts_from_result_data
from zuul.model import Image

from zuul_nodes import snapshotrecords
from zuul_nodes.drivers import addresses

# The type of artifact, in its metadata.
TYPE = 'zuul_image'
FORMAT = re.compile(r'[A-Za-z0-9][A-Za-z0-9._+-]{0,63}')
# Attribute -> number of hexadecimal digits.
CHECKSUMS = {'md5sum': 32, 'sha256': 64}
HEXADECIMAL = re.compile(r'[0-9A-Fa-f]+')


class ArtifactError(Exception):
    """The artifact is invalid."""


@dataclasses.dataclass(frozen=True)
class BuiltImage:
    """An image in the results of a build.

    :ivar Build build: that has built it.
    :ivar Image image: of the layout.
    :ivar str url: of the file.
    :ivar str md5sum: or None.
    :ivar str sha256: or None.
    """
    build: object
    image: Image
    format: str
    url: str
    md5sum: str
    sha256: str


def findImages(build, layout, isSnapshot=lambda url: False):
    """
    :param Build build: of a job that builds images.
    :param Layout layout: of the job.
    :param isSnapshot: called with a URL; returns whether it is a snapshot of
        a node of the build.
    :return: a list of :class:`BuiltImage`, and a list of messages about
        invalid artifacts.
    """
    images, problems = {}, []
    result = _getDict(_getDict(build.result_data).get('zuul'))
    artifacts = result.get('artifacts')
    for artifact in artifacts if isinstance(artifacts, list) else ():
        if _getDict(_getDict(artifact).get('metadata')).get('type') != TYPE:
            continue
        try:
            image = _check(artifact, result.get('log_url'), build, layout)
            if image.format == snapshotrecords.FORMAT:
                _checkSnapshot(image.url, isSnapshot)
            key = image.image.canonical_name, image.format
            if key in images:
                raise ArtifactError(
                    f'the build has another artifact of the image '
                    f'{image.image.name} in the format {image.format}; it may '
                    'have one for each format')
            images[key] = image
        except ArtifactError as error:
            problems.append(
                f'The artifact {_quote(artifact.get("name"))} of the job '
                f'{build.job.name} is ignored as an image: {error}.')
    return list(images.values()), problems


def chooseImages(found):
    """Choose one image where several jobs have built the same in one format.

    :param list found: the :class:`BuiltImage` of the builds of a buildset.
    :return: a list of those that count, and a list of pairs: a build, and the
        message about an image of it that does not.
    """
    chosen, problems = {}, []
    # A repeated report must choose the same.
    for each in sorted(found, key=_getRank):
        first = chosen.setdefault((each.image.canonical_name, each.format),
                                  each)
        if first is not each:
            problems.append((each.build, (
                f'The image "{each.image.name}" of the job '
                f'{each.build.job.name} in the format {each.format} is '
                f'ignored: the job {first.build.job.name} of this buildset '
                'has built it, too. Let one job of a buildset return it; '
                'no job deletes the other file')))
    return list(chosen.values()), problems


def _getRank(built):
    job = built.build.job
    return (job.image_build_name != built.image.name, job.name,
            built.build.uuid)


def _getDict(value):
    return value if isinstance(value, dict) else {}


def _quote(value):
    """:return: a value for messages, shortened."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 100 else f'{text[:97]}...'


def _check(artifact, log_url, build, layout):
    metadata = artifact['metadata']
    return BuiltImage(
        build, _getImage(metadata, build, layout),
        _getFormat(metadata), _getUrl(artifact, log_url),
        **{name: _getChecksum(metadata, name) for name in CHECKSUMS})


def _getImage(metadata, build, layout):
    own_name = build.job.image_build_name
    name = metadata.get('image_name')
    if name is None:
        name = own_name
    image = layout.images.get(name) if isinstance(name, str) else None
    own_image = layout.images.get(own_name)
    if own_image is None:
        raise ArtifactError(f'there is no image "{own_name}", which is the '
                            '"image-build-name" of this job')
    if image is None:
        raise ArtifactError(
            f'there is no image {_quote(name)}, which is the "image_name" in '
            'its metadata; set it to the name of an image, or omit it to use '
            f'"{own_name}"')
    if image.type != 'zuul':
        raise ArtifactError(
            f'the image "{image.name}" has the type "{image.type}"; only '
            'images of the type "zuul" can be built')
    if image.project_canonical_name != own_image.project_canonical_name:
        raise ArtifactError(
            f'the image "{image.name}" is defined in '
            f'{image.project_canonical_name}; this job may only build images '
            f'of {own_image.project_canonical_name}')
    return image


def _getFormat(metadata):
    image_format = metadata.get('format')
    if image_format is None:
        raise ArtifactError('its metadata have no "format"; set it to a '
                            'format such as "raw" or "qcow2"')
    if not (isinstance(image_format, str)
            and FORMAT.fullmatch(image_format)):
        raise ArtifactError(
            f'its format is {_quote(image_format)}; set it to a format such '
            'as "raw" or "qcow2"')
    return image_format


def _checkSnapshot(url, isSnapshot):
    if not isSnapshot(url):
        raise ArtifactError(
            f'its format is "{snapshotrecords.FORMAT}", but its URL is not '
            'that of a snapshot of a node of this build; use '
            '"snapshot_nodes" in zuul_return instead of returning an artifact')


def _getChecksum(metadata, name):
    checksum = metadata.get(name)
    if checksum is None:
        return None
    digits = CHECKSUMS[name]
    if not (isinstance(checksum, str) and len(checksum) == digits
            and HEXADECIMAL.fullmatch(checksum)):
        raise ArtifactError(
            f'its {name} is {_quote(checksum)}; it must have {digits} '
            'hexadecimal digits, or be omitted')
    return checksum.lower()


def _getUrl(artifact, log_url):
    """:return: the URL, which errors do not contain because of secrets in it.
    """
    # One artifact at a time, because Zuul rejects all if one is invalid.
    result = {'artifacts': [artifact]}
    if isinstance(log_url, str):
        result['log_url'] = log_url
    found = get_artifacts_from_result_data({'zuul': result})
    if not found:
        raise ArtifactError('it must have a name and a URL, both of them '
                            'strings')
    url = found[0]['url']
    try:
        addresses.checkUrl(url)
    except ValueError as error:
        raise ArtifactError(
            f'its URL {error}. One without a scheme is relative to the '
            '"log_url" of the build') from None
    return url
