"""Select the flavor of the cloud for a node."""

from zuul_nodes.drivers import PermanentError
from zuul_nodes.suggestions import suggest

# GB of a volume that a server boots from, if neither the configuration nor
# the flavor sets it; the default of openstacksdk.
VOLUME_SIZE = 50


def chooseFlavor(flavors, flavor):
    """
    :param list flavors: of the cloud, as its API returns them.
    :param flavor: of the configuration: ``flavor_name``, ``min_ram``.
    :return: the flavor of that name or id.  With ``min_ram``, the smallest
        flavor with at least that much RAM whose name contains ``flavor_name``.
    :raises PermanentError: there is none.
    """
    name, min_ram = flavor.flavor_name, flavor.min_ram
    if min_ram is None:
        for key in ('name', 'id'):
            for each in flavors:
                if each[key] == name:
                    return each
        names = [each['name'] for each in flavors]
        raise PermanentError(
            f'There is no flavor "{name}". {suggest(name, names)}')
    fitting = [each for each in flavors
               if each['ram'] >= min_ram and (name or '') in each['name']]
    if not fitting:
        most = max((each['ram'] for each in flavors), default=0)
        raise PermanentError(
            f'There is no flavor with {min_ram} MiB of RAM'
            + (f' and "{name}" in its name' if name else '')
            + f'; the largest flavor has {most} MiB')
    return min(fitting, key=lambda each: (
        each['ram'], each['vcpus'], each['disk'], each['name'], each['id']))


def getVolumeSize(spec, cloud_flavor):
    """
    :param spec: with ``label``, ``flavor`` and ``image``.
    :param dict cloud_flavor: as the API returns it.
    :return: GB of the volume that a server boots from.
    """
    return (getFirst(spec, 'volume_size') or cloud_flavor.get('disk')
            or VOLUME_SIZE)


def getFirst(spec, name):
    """:return: an attribute of the label, the flavor or the image, from the
        first that sets it; or None."""
    return next((value for part in (spec.label, spec.flavor, spec.image)
                 if (value := getattr(part, name, None)) is not None), None)
