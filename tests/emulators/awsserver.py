"""The emulated AWS of a process: moto, which we change, has one state."""

import contextlib
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


class _Late:
    """A client of a service that is made when it is first used."""

    def __init__(self, make):
        self._make = functools.cache(make)

    def __getattr__(self, name):
        return getattr(self._make(), name)


def _makeLate(make):
    """:return: in place of a method of a Session, one that makes clients
        late."""
    return lambda *args, **kwargs: _Late(lambda: make(*args, **kwargs))


@pytest.fixture(scope='session')
def aws_server():
    pytest.importorskip('moto', reason='only some environments have it')
    from boto3.session import Session
    from botocore.client import ClientCreator
    import botocore.loaders
    import botocore.session
    from moto import backends
    from moto.core import responses

    from tests.emulators.aws import Aws

    # What botocore knows of AWS it reads for each session: a second.  And
    # it makes seven hundred methods for the clients of each endpoint, which
    # has eight of them, and most tests use one or two.  Moto looks for each
    # request which services and which actions it has.
    with contextlib.ExitStack() as stack:
        for of, name, value in (
                (botocore.session, 'create_loader',
                 functools.cache(botocore.loaders.create_loader)),
                (ClientCreator, '_create_methods',
                 _createMethodsOnce(ClientCreator)),
                (backends, 'list_of_moto_modules', functools.partial(
                    list, [*backends.list_of_moto_modules()])),
                (responses, 'method_names_from_class', functools.cache(
                    responses.method_names_from_class)),
                (Session, 'client', _makeLate(Session.client)),
                (Session, 'resource', _makeLate(Session.resource))):
            stack.enter_context(mock.patch.object(of, name, value))
        server = Aws()
        yield server
        server.end()
