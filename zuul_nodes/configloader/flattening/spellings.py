"""Attribute aliases: the different names of one attribute.

The specification, Nodepool and Zuul's drivers use different names for the
same attribute.  All of them are accepted and translated to the name that the
driver knows.
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
    :return: alias -> the name that the driver knows.
    """
    spellings = {}
    for group in SPELLINGS:
        names = [name for name in group if name in known]
        if names:
            spellings.update((name, names[0]) for name in group
                             if name not in known)
    return spellings


def spell(attributes, spellings, origin):
    """Translate attribute names to those that a driver knows.

    :param dict attributes: names and values as written.
    :param dict spellings: alias -> name, of a driver.
    :param origin: the configuration object that contains them.
    :return: the attributes under the driver's names.
    :raises SpellingError: an attribute is given under two names.
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
                f'which are names of the same attribute. Remove one of them')
        spelled[known] = value
    return spelled
