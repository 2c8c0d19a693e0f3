"""Images and flavors that nobody has written.

Zuul wants every label to have an image and a flavor.  Nodes that are there
already, and others, need neither: what their labels get is for Zuul's records
alone, and users see nothing of it.
"""


def makeName(label_name, known):
    """
    :param str label_name: of the label that lacks an image or a flavor.
    :param known: the names of those that the tenant has.
    :return: a name that it does not have.
    """
    name = f'({label_name})'
    while name in known:
        name = f'({name})'
    return name


def isMadeUp(name, label_names, known):
    """
    :param str name: of an image or a flavor of a provider.
    :param label_names: of the labels of that provider.
    :param known: as for :func:`makeName`.
    :return: whether :func:`makeName` has made it.
    """
    if name in known:
        return False
    while name.startswith('(') and name.endswith(')'):
        name = name[1:-1]
        if name in label_names:
            return True
    return False
