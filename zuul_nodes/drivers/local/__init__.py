"""Nodes on the launcher's own machine.

A node is a tree of processes that bubblewrap keeps apart from the machine,
with a copy of its image's file system.  For trying things out, for the CI
of Zuul configurations and for small sites.
"""

import os

import voluptuous as vs

from zuul_nodes.drivers import Driver, Nullable, Optional, Required
from zuul_nodes.drivers.local.adapter import HOST_NETWORK, LocalAdapter


def _checkPath(value):
    if not os.path.isabs(value):
        raise vs.Invalid(f'{value} is no absolute path')
    return value


def _splitPaths(value):
    return [_checkPath(path.strip())
            for path in value.split(',') if path.strip()]


def _checkKeys(value):
    if not value.strip():
        raise vs.Invalid(
            'it is missing: the public key of the executor, or the path of '
            'a file with it')
    return value.strip()


LIMIT = vs.All(vs.Coerce(int, msg='it has to be a number'), vs.Range(min=0))


class LocalDriver(Driver):
    """The attributes available for nodes on the launcher's own machine are
    below."""

    name = 'local'
    adapter_class = LocalAdapter
    connection_attributes = {
        Optional(
            'authorized_keys', default='',
            doc="""The public keys that nodes let in, or the path of a file
            with them; needed.""",
        ): _checkKeys,
        Optional(
            'directory', default='/var/lib/zuul/local',
            doc='Where images and nodes are.',
        ): _checkPath,
        Optional(
            'import_directories', default='',
            doc="""Directories from which tenants may take images,
            separated by commas.""",
        ): _splitPaths,
        Optional(
            'max_instances',
            doc='How many nodes there may be at a time.',
        ): Nullable(LIMIT),
        Optional(
            'max_cores',
            doc='How many cores the flavors of all nodes may have.',
        ): Nullable(LIMIT),
        Optional(
            'max_ram',
            doc='How much memory (MiB) the flavors of all nodes may have.',
        ): Nullable(LIMIT),
        Optional(
            'cgroup',
            doc="""The directory of a control group (version 2) that is left
            to the launcher; needed for nodes that can not use more than
            their flavor says.""",
        ): Nullable(_checkPath),
        Optional(
            'max_pids', default=4096,
            doc="""How many processes and threads a node may have at a time,
            with cgroup.""",
        ): vs.All(vs.Coerce(int, msg='it has to be a number'),
                  vs.Range(min=1)),
        Optional(
            'network', default=HOST_NETWORK,
            doc="""The network of nodes: ``host`` for that of the machine,
            or ``none`` for a network namespace of each node, which Zuul
            reaches by SSH and which reaches nothing.""",
        ): vs.Any(HOST_NETWORK, 'none',
                  msg='it has to be "host" or "none"'),
        Optional(
            'user',
            doc="""As whom all nodes run, if the launcher is run by root; by
            default, each node is a user of its own.""",
        ): Nullable(str),
    }
    flavor_attributes = {
        Optional(
            'cores',
            doc='How many processors a node may use.',
        ): Nullable(vs.All(int, vs.Range(min=1))),
        Optional(
            'ram',
            doc='How much memory a node may use, in MiB.',
        ): Nullable(vs.All(int, vs.Range(min=1))),
    }
    cloud_image_attributes = {
        Required(
            'image-path',
            doc="""The path of an archive of a root file system, or of a
            directory with one, on the machine of the launcher.  The
            connection has to allow it with import_directories.""",
        ): str,
    }
