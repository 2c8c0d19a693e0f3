import functools
from unittest import mock

import botocore.loaders
import pytest
from zuul.driver.aws import awsendpoint

pytest.importorskip('moto', reason='only some environments have it')

from tests.fixtures.aws import Aws
from tests.unit.drivers.aws.sites import Site


@pytest.fixture(scope='session')
def aws_server():
    # What botocore knows of AWS it reads for each client: a second.
    with mock.patch.object(
            botocore.loaders, 'create_loader',
            functools.cache(botocore.loaders.create_loader)):
        server = Aws()
        yield server
        server.end()


@pytest.fixture
def aws(aws_server, monkeypatch):
    monkeypatch.setattr(awsendpoint, 'CACHE_TTL', 0.01)
    monkeypatch.setattr(
        awsendpoint.AwsProviderEndpoint, 'IMAGE_UPLOAD_SLEEP', 0.001)
    aws_server.reset()
    return aws_server


@pytest.fixture
def makeSite(aws, zk_client):
    """:return: a function that makes a :class:`Site`."""
    sites = []

    def make(**kwargs):
        sites.append(Site(aws, zk_client, **kwargs))
        return sites[-1]
    yield make
    for site in sites:
        site.end()


@pytest.fixture
def site(makeSite):
    return makeSite()
