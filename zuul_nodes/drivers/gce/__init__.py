"""Google Compute Engine.

What Google's libraries are needed for is imported when the driver is used:
that takes seconds, and most have no need of them.
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

# Google looks for one or the other.
EITHER = 'an image has "image-id" or "image-family", not both'


class GceDriver(Driver):
    """Nodes are instances of Google Compute Engine."""

    name = 'gce'
    adapter_class = GceAdapter
    endpoint_attributes = ('region',)

    connection_attributes = {
        Required(
            'project',
            doc='The id of the project that instances and images are in.',
        ): str,
        Optional(
            'credentials_file',
            doc="""The file with the key of a service account, JSON.  Without
            one, Google's application default credentials are used, such as
            those of the machine that Zuul runs on.""",
        ): Nullable(str),
        Optional(
            'bucket',
            doc="""The bucket of Cloud Storage that images are put into on
            their way.  Only needed to upload them.""",
        ): Nullable(str),
        Optional(
            'api_endpoint',
            doc="""The URL of the Compute Engine API, if it is another one.
            Nobody logs in there if it begins with ``http:``.""",
        ): Nullable(str),
        Optional(
            'storage_endpoint',
            doc='The same for Cloud Storage.',
        ): Nullable(str),
        **allowed.SCHEMA,
    }

    provider_attributes = {
        Required(
            'region',
            doc='The region that the nodes are in, such as ``us-central1``.',
        ): vs.All(str, vs.Match(r'^[a-z0-9-]+$', 'not a region')),
        Optional(
            'use-internal-ip', default=False,
            doc="""Connect to the internal address of nodes, also if they
            have an external one.""",
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
            doc='The oldest processor wanted, such as ``Intel Ice Lake``.',
        ): Nullable(str),
        Optional(
            'market-type', default=ON_DEMAND,
            doc='What may happen to the nodes.',
        ): vs.Any(
            Constant(ON_DEMAND, doc='They stay as long as they are wanted.'),
            Constant(SPOT, doc="""They cost less; Google may take them away
                     at any time."""),
            Constant(PREEMPTIBLE, doc="""As spot, and they end after 24
                     hours; what spot was before."""),
        ),
        Optional(
            'nested-virtualization', default=False,
            doc='Whether nodes can have virtual machines of their own.',
        ): bool,
        Optional(
            'secure-boot',
            doc="""Whether only signed software boots; of shielded
            instances, as the next two.  By default as Google has it.""",
        ): Nullable(bool),
        Optional(
            'vtpm', doc='Whether there is a virtual TPM.',
        ): Nullable(bool),
        Optional(
            'integrity-monitoring',
            doc='Whether what boots is compared with what booted before.',
        ): Nullable(bool),
        Optional(
            'accelerators', default=[],
            doc='GPUs.',
        ): AsList({
            Required(
                'type',
                doc='Their type, such as ``nvidia-tesla-t4``.',
            ): values.TYPE,
            Optional(
                'count', default=1, doc='How many.'): values.GPU_COUNT,
        }),
        Optional(
            'confidential-type',
            doc="""How the memory of the nodes is encrypted.  By default they
            are no confidential instances.""",
        ): Nullable(vs.Any(
            Constant('SEV', doc='By AMD SEV.'),
            Constant('SEV_SNP', doc='By AMD SEV-SNP.'),
            Constant('TDX', doc='By Intel TDX.'),
        )),
        Optional(
            'public-ipv4', default=True,
            doc="""Whether nodes have an external IPv4 address.  Without one,
            Zuul has to reach their network.""",
        ): bool,
        Optional(
            'public-ipv6', default=False,
            doc="""Whether nodes have an external IPv6 address, which their
            subnetwork has to have.  Without an external IPv4 address, it is
            what Zuul connects to.""",
        ): bool,
    }

    label_attributes = {
        Optional(
            'volume-size',
            doc='Of the boot disk, in GB.  By default that of the image.',
        ): Nullable(values.DISK_SIZE),
        Optional(
            'volume-type',
            doc="""The type of the boot disk, such as ``pd-ssd``.  By default
            as Google has it.""",
        ): Nullable(values.TYPE),
        Optional(
            'network',
            doc="""The name or the path of the network.  By default that of
            the subnetwork, or ``default``.""",
        ): Nullable(str),
        Optional(
            'subnetwork',
            doc="""The name of a subnetwork in the region, or the path of one
            that another project shares.""",
        ): Nullable(str),
        Optional(
            'network-tags', default=[],
            doc='For rules of the firewall.',
        ): vs.All(AsList(str), values.checkTags),
        Optional(
            'service-account',
            doc="""The service account that jobs on the node can use.  By
            default there is none.""",
        ): Nullable({
            Optional(
                'email', default=allowed.DEFAULT_EMAIL,
                doc="""Its address, or ``default``.""",
            ): str,
            Optional(
                'scopes', default=[allowed.ALL_SCOPES],
                doc='What it can be used for, a list of URLs.',
            ): AsList(str),
        }),
        Optional(
            'metadata', default={},
            doc="""What nodes can ask the metadata server for, such as
            ``enable-oslogin``.""",
        ): vs.All({str: str}, values.checkMetadata),
    }

    image_attributes = {
        Optional(
            'key', config=False,
            doc="""A public SSH key, or several lines of them, for the
            image's user: metadata of the node.""",
        ): Nullable(str),
        Optional(
            'userdata', config=False,
            doc='What cloud-init finds as user data.',
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
            ``debian-cloud``.  By default that of the connection.""",
        ): Nullable(str),
    }

    zuul_image_attributes = {
        Optional(
            'guest-os-features', default=[],
            doc="""What the operating system can do, such as ``GVNIC`` or
            ``UEFI_COMPATIBLE``.""",
        ): AsList(values.FEATURE),
        Optional(
            'architecture',
            doc='Of the processor, if Google is to know.',
        ): Nullable(vs.Any(
            Constant('X86_64', doc='Intel and AMD.'),
            Constant('ARM64', doc='ARM.'),
        )),
    }

    def checkBounds(self, connection, config):
        allowed.check(connection, config)
