"""Driver for Amazon Web Services: extends Zuul's driver."""

import zuul.driver.aws

from zuul_nodes.drivers import extension

# Our driver if it supports the installed Zuul, otherwise Zuul's.
AwsDriver = extension.chooseDriver(
    'zuul_nodes.drivers.aws.driver:AwsDriver', zuul.driver.aws.AwsDriver)
