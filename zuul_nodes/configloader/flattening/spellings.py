"""The names that one attribute goes by.

The specification, Nodepool and Zuul's drivers call the same thing by
different names.  All are accepted; a driver is given the name it knows.
"""

from zuul_nodes.configloader.errors import SpellingError, describe

SPELLINGS = (
    ('image-id', 'image-name'),
    ('flavor-name', 'cloud-flavor', 'instance-type'),
    ('az', 'availability-zones'),
    ('resource-limits', 'quota'),
    ('tags', 'meta'),
    ('networks', 'subnet-ids', 'subnet'),
)


def getSpellings(known):
    """
    :param set known: the names of the attributes that a driver knows.
    :return: another name -> the name that the driver knows.
    """
    spellings = {}
    for group in SPELLINGS:
        names = [name for name in group if name in known]
        if names:
            spellings.update((name, names[0]) for name in group
                             if name not in known)
    return spellings


def spell(attributes, spellings, origin):
    """
    :param dict attributes: as they are written.
    :param dict spellings: another name -> name, of a driver.
    :param origin: the configuration object they are written in.
    :return: the same, by the names that the driver knows.
    :raises SpellingError: an attribute is there by two names.
    """
    if spellings.keys().isdisjoint(attributes):
        return attributes
    spelled = {}
    for name, value in attributes.items():
        known = spellings.get(name, name)
        if known in spelled:
            first = next(other for other in attributes
                         if spellings.get(other, other) == known)
            raise SpellingError(
                f'The {describe(origin)} has both "{first}" and "{name}", '
                f'which are one attribute. Take one of them out')
        spelled[known] = value
    return spelled
