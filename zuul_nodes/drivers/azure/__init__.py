"""Driver for Azure: extends Zuul's driver."""

import zuul.driver.azure

from zuul_nodes.drivers import extension

# Our driver if it supports the installed Zuul, otherwise Zuul's.
AzureDriver = extension.chooseDriver(
    'zuul_nodes.drivers.azure.driver:AzureDriver',
    zuul.driver.azure.AzureDriver)
