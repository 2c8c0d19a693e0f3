import pytest
from zuul.driver.aws import awsendpoint

pytest.importorskip('moto', reason='only some environments have it')

from tests.fixtures.ending import endWith
from tests.unit.drivers.aws.sites import Site


@pytest.fixture
def aws(aws_server, monkeypatch):
    monkeypatch.setattr(awsendpoint, 'CACHE_TTL', 0.01)
    monkeypatch.setattr(
        awsendpoint.AwsProviderEndpoint, 'IMAGE_UPLOAD_SLEEP', 0.001)
    aws_server.reset()
    return aws_server


@pytest.fixture
def makeSite(request, aws, zk_client):
    """:return: a function that makes a :class:`Site`."""
    return lambda **kwargs: endWith(request, Site(aws, zk_client, **kwargs))
