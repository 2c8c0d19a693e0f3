"""The emulated AWS of a process: moto, which we change, has one state."""

import functools
from unittest import mock

import pytest


def _createMethodsOnce(creator):
    """:return: in place of a method of a ClientCreator, one that makes the
        methods of a service's clients for the first client only."""
    createMethods, known = creator._create_methods, {}

    def create(self, service_model):
        key = service_model.service_name, service_model.api_version
        if key not in known:
            known[key] = createMethods(self, service_model)
        return dict(known[key])
    return create


@pytest.fixture(scope='session')
def aws_server():
    pytest.importorskip('moto', reason='only some environments have it')
    from botocore.client import ClientCreator
    import botocore.loaders
    import botocore.session

    from tests.emulators.aws import Aws

    # What botocore knows of AWS it reads for each session: a second.  And
    # it makes seven hundred methods for the clients of each endpoint.
    with mock.patch.object(
            botocore.session, 'create_loader',
            functools.cache(botocore.loaders.create_loader)
            ), mock.patch.object(
                ClientCreator, '_create_methods',
                _createMethodsOnce(ClientCreator)):
        server = Aws()
        yield server
        server.end()
