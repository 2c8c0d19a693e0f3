"""Attributes of nodes in Azure, in addition to those of Zuul's driver."""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional, Required

from zuul_nodes.drivers.azure.names import (
    checkGroup,
    checkID,
    checkPart,
    checkRegion,
)

# Maximum number of bytes before encoding.
LONGEST_DATA = 65535


def checkLength(text):
    """:return: valid data for a node."""
    if len(text.encode()) > LONGEST_DATA:
        raise vs.Invalid(f'the value has {len(text.encode())} bytes; Azure '
                         f'accepts {LONGEST_DATA}')
    return text


def _makeData(**options):
    """
    :param options: of the attributes that Zuul's driver does not have.
    """
    return {
        Optional(
            'userdata',
            doc="""\
            The user data of the node, for instance for cloud-init, not
            encoded.  Azure shows it while the node exists.  A label overrides
            its flavor, and a flavor overrides the image.""",
        ): Nullable(vs.All(str, checkLength)),
        Optional(
            'custom-data',
            doc="""\
            The custom data of the node, which Azure never shows.  Older
            versions of cloud-init support only this.  A label overrides its
            flavor, and a flavor overrides the image.""",
            **options,
        ): Nullable(vs.All(str, checkLength)),
    }


FLAVOR = _makeData()
# A change of the data does not require another upload of the image.
IMAGE = _makeData(config=False)
LABEL = {
    **_makeData(),
    Optional(
        'az',
        doc="""\
        The availability zone of the node, such as ``1``.  By default, Azure
        chooses it.  With several zones in ``availability-zones``, a node is
        launched in another one if there is no capacity.""",
    ): Nullable(vs.All(str, vs.Match(r'^[0-9]{1,2}$', 'expected a zone, '
                                     'such as "1"'))),
}

PROVIDER = {
    Required(
        'region',
        doc="""Name of the Azure region to use, such as ``eastus``.""",
    ): vs.All(str, checkRegion),
    Required(
        'resource-group',
        doc="""\
        Name of the resource group in which to place nodes.""",
    ): vs.All(str, checkGroup),
    Optional(
        'use-internal-ip',
        default=False,
        doc="""\
        Connect to the private address of nodes even if they have a public
        one.  Launchers and executors must be in the same virtual network, or
        in a connected one.  Nodes have public addresses only if their flavor
        has ``public-ipv4`` or ``public-ipv6``.""",
    ): bool,
}

# Parts of references, which become parts of paths.
_PARTS = {'resource-group': checkGroup, 'network': checkPart,
          'subnet': checkPart, 'name': checkPart, 'gallery-name': checkPart,
          'version': checkPart}


def checkLabel(label):
    """:return: the label, if its references are valid."""
    _check(label, 'subnet-id', checkID)
    _checkReference(label, 'subnet-reference')
    for each in _get(label, 'user-assigned-identities') or ():
        _checkParts(each, ['user-assigned-identities'])
    return label


def checkImage(image):
    """:return: the image, if its references are valid."""
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
    """:return: an attribute by its name in YAML, or by its name in Zuul."""
    value = thing.get(name)
    return thing.get(name.replace('-', '_')) if value is None else value
