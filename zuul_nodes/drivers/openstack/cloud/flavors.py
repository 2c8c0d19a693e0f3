"""Which flavor of the cloud a node gets."""

from zuul_nodes.drivers import PermanentError
from zuul_nodes.suggestions import suggest

# GB of a volume that a server boots from, if neither the configuration nor
# the flavor says, as openstacksdk has it.
VOLUME_SIZE = 50


def chooseFlavor(flavors, flavor):
    """
    :param list flavors: of the cloud, as its API shows them.
    :param flavor: of the configuration: ``flavor_name``, ``min_ram``.
    :return: the flavor of that name or id.  With ``min_ram``, the least one
        that has so much RAM, of those whose name has ``flavor_name`` in it.
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
            + f'; the most that any flavor has is {most} MiB')
    return min(fitting, key=lambda each: (
        each['ram'], each['vcpus'], each['disk'], each['name'], each['id']))


def getVolumeSize(spec, cloud_flavor):
    """
    :param spec: with ``label``, ``flavor`` and ``image``.
    :param dict cloud_flavor: as the cloud shows it.
    :return: GB of the volume that a server boots from.
    """
    return (getFirst(spec, 'volume_size') or cloud_flavor.get('disk')
            or VOLUME_SIZE)


def getFirst(spec, name):
    """:return: an attribute of the label, the flavor or the image, the
        first that has one; or None."""
    return next((value for part in (spec.label, spec.flavor, spec.image)
                 if (value := getattr(part, name, None)) is not None), None)
