"""Flatten disk images: what they have of their parents, as in Nodepool."""

from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import Mapping, Sequence, getOrigin, iterate

# Attributes that a child does not have from its parent.
OWN = ('name', 'abstract', 'parent')


def flatten(image, images, report):
    """
    :param Mapping image: of ``diskimages``.
    :param dict images: name -> Mapping, all of them.
    :return: a Mapping: ``elements`` of parents come first, ``env-vars`` are
        merged, and all else of the child counts.
    """
    chain = [image]
    while (parent := chain[-1].get('parent')) is not None:
        origin = getOrigin(chain[-1], 'parent')
        if str(parent) not in images:
            report.add(Kind.DECIDE, f'There is no parent "{parent}"; the '
                       f'image lacks what the parent has', origin,
                       f'diskimage {image["name"]}')
            break
        ancestor = images[str(parent)]
        if any(each is ancestor for each in chain):
            report.add(Kind.DECIDE, 'A diskimage is its own ancestor; '
                       '"parent" is ignored here', origin,
                       f'diskimage {image["name"]}')
            break
        chain.append(ancestor)
    flat = Mapping(origin=image.origin)
    elements, variables = Sequence(), Mapping()
    for each in reversed(chain):
        for name, value in each.items():
            if name in OWN and each is not image:
                continue
            flat.put(name, value, getOrigin(each, name))
        for element, origin in iterate(_getList(each, 'elements')):
            elements.add(str(element), origin)
        if isinstance(each.get('env-vars'), Mapping):
            variables.take(each['env-vars'])
    flat['elements'] = elements
    flat['env-vars'] = variables
    return flat


def _getList(image, name):
    value = image.get(name)
    return value if isinstance(value, list) else ()
