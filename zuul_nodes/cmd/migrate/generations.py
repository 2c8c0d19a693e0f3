"""Detect files that are fragments, or of an older Nodepool."""

from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin, iterate
from zuul_nodes.exceptions import UserError

# Top-level attributes that only Nodepool before version 3 reads.
OLD = ('targets', 'gearman-servers', 'zmq-publishers', 'jenkins', 'dburi')


def check(source):
    """
    :param Source source:
    :raises UserError: the file is of Nodepool before version 3.
    """
    providers = [(each, origin) for each, origin
                 in iterate(_getList(source.root, 'providers'))
                 if isinstance(each, Mapping)]
    if any('pools' in each for each, _ in providers):
        return
    for each, origin in providers:
        if 'images' in each:
            _refuse(source, f'the provider "{each.get("name")}" ({origin}) '
                    f'has "images" and no "pools"')
    for name in OLD:
        if name in source.root:
            _refuse(source, f'"{name}" ({getOrigin(source.root, name)}) is '
                    f'an attribute of it')


def _refuse(source, why):
    raise UserError(
        f'{source.name} is of a Nodepool before version 3: {why}; move it to '
        f'"pools" with "labels" first, as the release notes of Nodepool 3.0 '
        f'describe')


def _getList(root, name):
    value = root.get(name)
    return value if isinstance(value, list) else ()


def refuseFragment(sources):
    """:raises UserError: always; says what is missing."""
    names = ', '.join(source.name for source in sources)
    verb = 'defines' if len(sources) == 1 else 'define'
    unknown = [f'"{name}"' for source in sources for name in source.root
               if name not in ('labels', 'providers', 'diskimages')]
    found = f' (there is {", ".join(unknown[:5])})' if unknown else ''
    raise UserError(
        f'{names} {verb} neither "providers" nor "diskimages"{found}; such a '
        f'fragment cannot be converted alone: name the files of all '
        f'launchers and builders of the site')
