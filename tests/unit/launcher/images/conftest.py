"""Tests of images have an :class:`ImageLauncher` without layouts."""

import functools

import pytest

from tests.fixtures.imagetenants import writeTenants
from tests.fixtures.waiting import waitFor


@pytest.fixture
def write(image_launcher):
    """:return: a function that writes tenants."""
    return functools.partial(writeTenants, image_launcher)


@pytest.fixture
def retire(image_launcher):
    """:return: a function that has a launcher retire what there is, and
        gives the ids of the images that are left in clouds."""
    def retire():
        retention = image_launcher.images.retention
        retention.reconcile()
        waitFor(lambda: not retention.deletion.uuids_in_queue)
        return [image for cloud in image_launcher.clouds.values()
                for image in cloud.images]
    return retire
