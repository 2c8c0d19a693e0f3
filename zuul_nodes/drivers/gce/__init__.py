"""Driver for Google Compute Engine.

Google's libraries are imported only when the driver is used: the import takes
seconds, and most installations do not use them.
"""

import voluptuous as vs
from zuul.lib.voluputil import AsList, Constant

from zuul_nodes.drivers import Driver, Nullable, Optional, Required
from zuul_nodes.drivers.gce import allowed, values
from zuul_nodes.drivers.gce.adapter import GceAdapter
from zuul_nodes.drivers.gce.machine import (
    ON_DEMAND,
    PREEMPTIBLE,
    SPOT,
)

# Google accepts only one of them.
EITHER = 'an image has either "image-id" or "image-family", not both'


class GceDriver(Driver):
    """A node is an instance of Google Compute Engine."""

    name = 'gce'
    adapter_class = GceAdapter
    endpoint_attributes = ('region',)

    connection_attributes = {
        Required(
            'project',
            doc='The id of the project of instances and images.',
        ): str,
        Optional(
            'credentials_file',
            doc="""The JSON file with the key of a service account.  By
            default, Google's application default credentials are used, such as
            those of the machine that Zuul runs on.""",
        ): Nullable(str),
        Optional(
            'bucket',
            doc="""The bucket of Cloud Storage through which images are
            uploaded.  Only required for uploads.""",
        ): Nullable(str),
        Optional(
            'api_endpoint',
            doc="""The URL of the Compute Engine API, if it differs from
            Google's.  The driver does not log in to an ``http:`` URL.""",
        ): Nullable(str),
        Optional(
            'storage_endpoint',
            doc="""The URL of Cloud Storage, if it differs from Google's, for
            example for Private Service Connect.""",
        ): Nullable(str),
        **allowed.SCHEMA,
    }

    provider_attributes = {
        Required(
            'region',
            doc="""The region of the nodes, such as ``us-central1``.  They are
            in those of its zones that are up, unless a label has ``az``.""",
        ): vs.All(str, vs.Match(r'^[a-z0-9-]+$', 'not a region')),
        Optional(
            'use-internal-ip', default=False,
            doc="""Connect to the internal address of nodes even if they have
            an external one.""",
        ): bool,
    }

    flavor_attributes = {
        Required(
            'machine-type',
            doc="""The name of a machine type, such as ``e2-standard-4``, or
            of a custom one, such as ``n2-custom-4-8192``.""",
        ): values.TYPE,
        Optional(
            'min-cpu-platform',
            doc='The oldest allowed processor, such as ``Intel Ice Lake``.',
        ): Nullable(str),
        Optional(
            'market-type', default=ON_DEMAND,
            doc='Whether Google may reclaim the nodes.',
        ): vs.Any(
            Constant(ON_DEMAND, doc='Google does not reclaim them.'),
            Constant(SPOT, doc="""They are cheaper, but Google may reclaim
                     them at any time."""),
            Constant(PREEMPTIBLE, doc="""As spot, with a limit of 24 hours;
                     the predecessor of spot."""),
        ),
        Optional(
            'nested-virtualization', default=False,
            doc='Whether nodes can run virtual machines.',
        ): bool,
        Optional(
            'secure-boot',
            doc="""Whether only signed software boots, an option of shielded
            instances.  By default, Google's default.""",
        ): Nullable(bool),
        Optional(
            'vtpm',
            doc="""Whether nodes have a virtual TPM, an option of shielded
            instances.  By default, Google's default.""",
        ): Nullable(bool),
        Optional(
            'integrity-monitoring',
            doc="""Whether each boot is compared with the first one, an option
            of shielded instances.  By default, Google's default.""",
        ): Nullable(bool),
        Optional(
            'accelerators', default=[],
            doc="""GPUs.  Not every zone has them, so labels with such a flavor
            need ``az``.""",
        ): AsList({
            Required(
                'type',
                doc='Their type, such as ``nvidia-tesla-t4``.',
            ): values.TYPE,
            Optional(
                'count', default=1, doc='Their number.'): values.GPU_COUNT,
        }),
        Optional(
            'confidential-type',
            doc="""How the memory of the nodes is encrypted.  By default, they
            are not confidential instances.""",
        ): Nullable(vs.Any(
            Constant('SEV', doc='By AMD SEV.'),
            Constant('SEV_SNP', doc='By AMD SEV-SNP.'),
            Constant('TDX', doc='By Intel TDX.'),
        )),
        Optional(
            'public-ipv4', default=True,
            doc="""Whether nodes have an external IPv4 address, to which Zuul
            connects.  Without any external address, Zuul connects to the
            internal one and must be able to reach their network.""",
        ): bool,
        Optional(
            'public-ipv6', default=False,
            doc="""Whether nodes have an external IPv6 address, which their
            subnetwork must support.  Zuul connects to it if there is no
            external IPv4 address.""",
        ): bool,
    }

    label_attributes = {
        Optional(
            'volume-size',
            doc="""Size of the boot disk in GB, from 4 to 65536.  By default
            the image's.""",
        ): Nullable(values.DISK_SIZE),
        Optional(
            'volume-type',
            doc="""The type of the boot disk, such as ``pd-ssd``.  By default,
            Google's default: ``pd-standard``.  C3, C4 and N4 do not support
            that; they need ``pd-balanced`` or ``hyperdisk-balanced``.""",
        ): Nullable(values.TYPE),
        Optional(
            'network',
            doc="""The name or the path of the network.  By default, the
            network of the subnetwork, or ``default``.""",
        ): Nullable(str),
        Optional(
            'subnetwork',
            doc="""The name of a subnetwork in the region, or the path of one
            that another project shares, such as
            ``projects/shared/regions/us-central1/subnetworks/ci``.""",
        ): Nullable(str),
        Optional(
            'network-tags', default=[],
            doc="""Network tags, which rules of the firewall use.  The launcher
            must reach port 22, unless ``host-key-checking`` is false.""",
        ): vs.All(AsList(str), values.checkTags),
        Optional(
            'service-account',
            doc="""The service account that jobs on the node can use.  By
            default, there is none.""",
        ): Nullable({
            Optional(
                'email', default=allowed.DEFAULT_EMAIL,
                doc="""Its address, or ``default``.""",
            ): str,
            Optional(
                'scopes', default=[allowed.ALL_SCOPES],
                doc='Its permissions, a list of URLs.',
            ): AsList(str),
        }),
        Optional(
            'metadata', default={},
            doc="""Metadata that nodes can read from the metadata server.  If
            the project has OS Login, nodes need ``enable-oslogin: 'FALSE'``.
            """,
        ): vs.All({str: str}, values.checkMetadata),
    }

    image_attributes = {
        Optional(
            'key', config=False,
            doc="""A public SSH key for the image's user, or several lines of
            them, in the metadata of the node.  Google's guest agent installs
            them.""",
        ): Nullable(str),
        Optional(
            'userdata', config=False,
            doc='The user data for cloud-init.',
        ): Nullable(str),
    }

    cloud_image_attributes = {
        values.Alternative(
            'image-id', 'image', EITHER,
            doc="""The name of an image, or its path.  An image has either
            this or ``image-family``.""",
        ): Nullable(str),
        values.Alternative(
            'image-family', 'image', EITHER,
            doc='The name of a family, whose newest image is used.',
        ): Nullable(str),
        Optional(
            'image-project',
            doc="""The project that has the image or the family, such as
            ``debian-cloud``.  By default, the project of the connection.""",
        ): Nullable(str),
    }

    zuul_image_attributes = {
        Optional(
            'guest-os-features', default=[],
            doc="""Features of the operating system, which Google cannot see
            itself, such as ``GVNIC`` or ``UEFI_COMPATIBLE``.""",
        ): AsList(values.FEATURE),
        Optional(
            'architecture',
            doc='The architecture of the processor.',
        ): Nullable(vs.Any(
            Constant('X86_64', doc='Intel and AMD.'),
            Constant('ARM64', doc='ARM.'),
        )),
    }

    def checkBounds(self, connection, config):
        allowed.check(connection, config)
