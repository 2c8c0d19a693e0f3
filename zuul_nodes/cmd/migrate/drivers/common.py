"""Rules that several drivers have in common."""

from zuul_nodes.cmd.migrate import values
from zuul_nodes.cmd.migrate.rules import (
    HANDLED,
    Default,
    Merged,
    Place,
    To,
    decide,
    lost,
)
from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin

PUBLIC = 'the nodes get public addresses, and the launcher connects to them'

# Providers of all drivers.
PROVIDER = {
    'name': HANDLED,
    'driver': HANDLED,
    'pools': HANDLED,
    'max-concurrency': lost('there are no threads for each request; '
                            '"endpoint_workers" in [launcher] limits the '
                            'threads of each endpoint'),
    'priority': To(Place.SECTION, convert=values.number),
    'launch-timeout': To(Place.SECTION),
    'launch-retries': To(Place.SECTION, 'launch-attempts'),
    'boot-timeout': To(Place.LABEL_DEFAULTS),
}
# Providers of clouds with images.
WITH_IMAGES = {
    'rate': HANDLED,
    'cloud-images': HANDLED,
    'diskimages': HANDLED,
    'post-upload-hook': decide(
        'put what the hook does into the job that validates the image; it '
        'knows the upload as "zuul.image"'),
}
POOL = {
    'name': HANDLED,
    'labels': HANDLED,
    'node-attributes': HANDLED,
    'priority': To(Place.PROVIDER, convert=values.number),
    'max-servers': To(Place.LIMITS, 'instances', values.limit),
}
RESOURCES = {
    'max-cores': To(Place.LIMITS, 'cores', values.limit),
    'max-ram': To(Place.LIMITS, 'ram', values.limit),
    'max-resources': Merged(Place.LIMITS, convert=values.limit),
}
LIMITS = ('max-servers', *RESOURCES)
HOST_KEYS = {'host-key-checking': To(Place.LABEL_DEFAULTS)}
LABEL = {
    'name': HANDLED,
    'cloud-image': HANDLED,
    'diskimage': HANDLED,
}
DYNAMIC_TAGS = {
    'dynamic-tags': To(
        Place.LABEL, convert=values.renameFields(values.TAG_FIELDS)),
}
# How Ansible logs in.
LOGIN = {
    'username': To(Place.IMAGE),
    'python-path': To(Place.IMAGE),
    'shell-type': To(Place.IMAGE),
    'connection-type': To(Place.IMAGE),
    'connection-port': To(Place.IMAGE),
}
CLOUD_IMAGE = {'name': HANDLED, **LOGIN}
DISKIMAGE = {'name': HANDLED, 'pause': HANDLED, **LOGIN}


def getOptions(provider, names):
    """
    :param dict names: attribute of a provider -> option of the connection.
    :return: the options that the provider has values for, a Mapping.
    """
    options = Mapping()
    for name, option in names.items():
        if provider.get(name) is not None:
            options.put(option, provider[name], getOrigin(provider, name))
    return options


def bootTimeout(seconds):
    """:return: the default of a driver of Nodepool; Zuul's is 300."""
    return Default(Place.LABEL_DEFAULTS, 'boot-timeout', seconds)
