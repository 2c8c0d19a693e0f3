"""What becomes of each driver of Nodepool."""

from zuul_nodes.cmd.migrate.drivers.aws import AWS
from zuul_nodes.cmd.migrate.drivers.azure import AZURE
from zuul_nodes.cmd.migrate.drivers.gce import GCE
from zuul_nodes.cmd.migrate.drivers.kubernetes import (
    KUBERNETES,
    OPENSHIFT,
    OPENSHIFT_PODS,
)
from zuul_nodes.cmd.migrate.drivers.openstack import OPENSTACK

__all__ = ['DRIVERS', 'GONE', 'METASTATIC', 'STATIC']

# Driver of Nodepool -> the tables for it.
DRIVERS = {
    'aws': AWS,
    'azure': AZURE,
    'gce': GCE,
    'kubernetes': KUBERNETES,
    'openshift': OPENSHIFT,
    'openshiftpods': OPENSHIFT_PODS,
    'openstack': OPENSTACK,
}
# These have other objects than providers of a cloud.
STATIC, METASTATIC = 'static', 'metastatic'
# Drivers without a counterpart -> what to do.
GONE = {
    'ibmvpc': 'neither Zuul nor zuul-nodes has a driver for IBM VPC; '
              '"zuul-nodes new-driver" writes the frame of one',
    'digitalocean': '"zuul-nodes new-driver" writes the frame of a driver',
    'runc': 'the driver "local" of zuul-nodes is the nearest',
    'k1s': 'the driver "kubernetes" or "local" is the nearest',
    'fake': 'it is for tests',
    'test': 'it is for tests',
    'example': 'it is for tests',
}
