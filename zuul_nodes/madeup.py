"""Names for images and flavors that Zuul requires but no one configures.

Zuul requires an image and a flavor for every label.  Labels of static nodes,
and some others, need neither.  They get made-up ones, which appear only in
Zuul's records and are not shown to users.
"""


def makeName(label_name, known):
    """
    :param str label_name: the label without an image or a flavor.
    :param known: the names of the tenant's images or flavors.
    :return: a name that the tenant does not use.
    """
    name = f'({label_name})'
    while name in known:
        name = f'({name})'
    return name


def isMadeUp(name, label_names, known):
    """
    :param str name: of an image or a flavor of a provider.
    :param label_names: the names of the provider's labels.
    :param known: as for :func:`makeName`.
    :return: whether :func:`makeName` made the name.
    """
    if name in known:
        return False
    while name.startswith('(') and name.endswith(')'):
        name = name[1:-1]
        if name in label_names:
            return True
    return False
