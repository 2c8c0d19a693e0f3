"""Driver for nodes on the launcher's own machine.

A node is a tree of processes that bubblewrap isolates from the machine, with a
copy of its image's file system.  The driver is meant for trials, for the CI of
Zuul configurations and for small sites.
"""

import os

import voluptuous as vs

from zuul_nodes.drivers import Driver, Nullable, Optional, Required
from zuul_nodes.drivers.local.adapter import HOST_NETWORK, LocalAdapter


def _checkPath(value):
    if not os.path.isabs(value):
        raise vs.Invalid(f'{value} is not an absolute path')
    return value


def _splitPaths(value):
    return [_checkPath(path.strip())
            for path in value.split(',') if path.strip()]


def _checkKeys(value):
    if not value.strip():
        raise vs.Invalid(
            'it is missing: set the public key of the executor, or the path '
            'of a file that contains it')
    return value.strip()


LIMIT = vs.All(vs.Coerce(int, msg='it must be a number'), vs.Range(min=0))


class LocalDriver(Driver):
    """The attributes of nodes on the launcher's own machine."""

    name = 'local'
    adapter_class = LocalAdapter
    connection_attributes = {
        Optional(
            'authorized_keys', default='',
            doc="""The public key that belongs to ``private_key_file`` of the
            executor, or the path of a file with such keys; required.""",
        ): vs.All(str, _checkKeys),
        Optional(
            'directory', default='/var/lib/zuul/local',
            doc="""The directory of images and nodes.  A file system that can
            share blocks between files, such as XFS and Btrfs, makes nodes
            quickly.""",
        ): vs.All(str, _checkPath),
        Optional(
            'import_directories', default='',
            doc="""Directories whose images tenants may use, separated by
            commas.  Symbolic links do not lead out of them.""",
        ): vs.All(str, _splitPaths),
        Optional(
            'max_instances',
            doc='Maximum number of nodes at the same time.',
        ): Nullable(LIMIT),
        Optional(
            'max_cores',
            doc='Maximum number of cores of the flavors of all nodes.',
        ): Nullable(LIMIT),
        Optional(
            'max_ram',
            doc='Maximum memory (MiB) of the flavors of all nodes.',
        ): Nullable(LIMIT),
        Optional(
            'cgroup',
            doc="""The directory of a control group, such as
            ``/sys/fs/cgroup/system.slice/nodes.service/nodes``.  With it, no
            node can use more than the ``cores`` and the ``ram`` of its flavor,
            and no swap; without it, these are only counted.  The group has
            version 2 and the controllers ``cpu``, ``memory`` and ``pids``, is
            delegated to the launcher (systemd's ``Delegate=``), and has no
            processes.  A launcher that root does not run is in a group beside
            it.""",
        ): Nullable(vs.All(str, _checkPath)),
        Optional(
            'max_pids', default=4096,
            doc="""Maximum number of processes and threads of a node; requires
            ``cgroup``.""",
        ): vs.All(vs.Coerce(int, msg='it must be a number'),
                  vs.Range(min=1)),
        Optional(
            'network', default=HOST_NETWORK,
            doc="""The network of nodes: ``host`` for the network of the
            machine, or ``none`` for a network namespace of each node, which
            Zuul can reach by SSH and which cannot reach anything.""",
        ): vs.Any(HOST_NETWORK, 'none',
                  msg='it must be "host" or "none"'),
        Optional(
            'user',
            doc="""The user who runs all nodes, if root runs the launcher; by
            default, each node has a user of its own.""",
        ): Nullable(str),
    }
    flavor_attributes = {
        Optional(
            'cores',
            doc='Number of processors that a node may use.',
        ): Nullable(vs.All(int, vs.Range(min=1))),
        Optional(
            'ram',
            doc='Memory that a node may use, in MiB.',
        ): Nullable(vs.All(int, vs.Range(min=1))),
    }
    cloud_image_attributes = {
        Required(
            'image-path',
            doc="""The path of an archive of a root file system, or of a
            directory that contains one, on the machine of the launcher.  It
            must be in the ``import_directories`` of the connection.""",
        ): str,
    }
