"""Azure: Zuul's driver, and what it lacks."""

import zuul.driver.azure

from zuul_nodes.drivers import extension

# Ours, if it goes with the Zuul that is here.
AzureDriver = extension.chooseDriver(
    'zuul_nodes.drivers.azure.driver:AzureDriver',
    zuul.driver.azure.AzureDriver)
