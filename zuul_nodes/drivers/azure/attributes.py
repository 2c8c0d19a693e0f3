"""What is configured of nodes in Azure, beside what Zuul's driver has."""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional, Required

from zuul_nodes.drivers.azure.names import (
    checkGroup,
    checkID,
    checkPart,
    checkRegion,
)

# Bytes, before they are encoded.
LONGEST_DATA = 65535


def checkLength(text):
    """:return: data for a node, if Azure takes it."""
    if len(text.encode()) > LONGEST_DATA:
        raise vs.Invalid(f'it has {len(text.encode())} bytes, and Azure '
                         f'takes {LONGEST_DATA}')
    return text



def _makeData(**options):
    """
    :param options: of the attributes that Zuul's driver does not have.
    """
    return {
        Optional(
            'userdata',
            doc="""\
            What the node finds as user data, for instance for cloud-init.
            Azure can show it for as long as the node lives.  A label's
            comes before its flavor's, and that before its image's.""",
        ): Nullable(vs.All(str, checkLength)),
        Optional(
            'custom-data',
            doc="""\
            What the node finds as custom data, which Azure never shows.
            Older versions of cloud-init know only this.  A label's comes
            before its flavor's, and that before its image's.""",
            **options,
        ): Nullable(vs.All(str, checkLength)),
    }


FLAVOR = _makeData()
# An image need not be uploaded again when it changes.
IMAGE = _makeData(config=False)
LABEL = {
    **_makeData(),
    Optional(
        'az',
        doc="""\
        The availability zone of the node, such as ``1``.  Without one Azure
        chooses; ``availability-zones`` has several, and a node goes to
        another one if there is no capacity.""",
    ): Nullable(vs.All(str, vs.Match(r'^[0-9]{1,2}$', 'expected a zone, '
                                     'such as "1"'))),
}

PROVIDER = {
    Required(
        'region',
        doc="""Name of the Azure region to use, such as ``eastus``.""",
    ): checkRegion,
    Required(
        'resource-group',
        doc="""\
        Name of the resource group in which to place nodes.""",
    ): checkGroup,
    Optional(
        'use-internal-ip',
        default=False,
        doc="""\
        Connect to the private address of nodes, also if they have a public
        one.  Launchers and executors have to be in the same virtual network
        then, or in one that it is connected to.""",
    ): bool,
}

# What references consist of, which becomes part of paths.
_PARTS = {'resource-group': checkGroup, 'network': checkPart,
          'subnet': checkPart, 'name': checkPart, 'gallery-name': checkPart,
          'version': checkPart}


def checkLabel(label):
    """:return: a label, if what it refers to can be there."""
    _check(label, 'subnet-id', checkID)
    _checkReference(label, 'subnet-reference')
    for each in _get(label, 'user-assigned-identities') or ():
        _checkParts(each, ['user-assigned-identities'])
    return label


def checkImage(image):
    """:return: an image, if what it refers to can be there."""
    _check(image, 'image-id', checkID)
    for name in ('shared-gallery-image', 'community-gallery-image'):
        _checkReference(image, name)
    return image


def _checkReference(thing, name):
    if reference := _get(thing, name):
        _checkParts(reference, [name])


def _checkParts(reference, path):
    for name, check in _PARTS.items():
        _check(reference, name, check, path)


def _check(thing, name, check, path=()):
    value = _get(thing, name)
    if value is None:
        return
    try:
        check(value)
    except vs.Invalid as error:
        raise vs.Invalid(str(error), path=[*path, name]) from None


def _get(thing, name):
    """:return: an attribute by its name in YAML, or as Zuul keeps it."""
    value = thing.get(name)
    return thing.get(name.replace('-', '_')) if value is None else value
