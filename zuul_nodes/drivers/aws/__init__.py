"""Amazon Web Services: Zuul's driver, and what it lacks."""

import zuul.driver.aws

from zuul_nodes.drivers import extension

# Ours, if it goes with the Zuul that is here.
AwsDriver = extension.chooseDriver(
    'zuul_nodes.drivers.aws.driver:AwsDriver', zuul.driver.aws.AwsDriver)
