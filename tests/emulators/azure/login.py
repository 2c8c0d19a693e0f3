"""Who may ask: the token endpoint, and what calls have to have."""

import time
import urllib.parse
import uuid

from tests.emulators.azure.core import Refusal, Service, route
from tests.emulators.emulation import Answer

# Seconds.
LIFE = 3600


class Login(Service):
    """Client credentials, with a secret.

    :ivar set tokens: that have been given.
    """

    guarded = False

    def __init__(self, azure):
        super().__init__(azure)
        self.tokens = set()

    @route('POST', '/{tenant}/oauth2/token')
    def callToken(self, request, tenant):
        given = dict(urllib.parse.parse_qsl(request.body.decode()))
        wanted = self.azure.credentials
        if (tenant, given.get('client_id'), given.get('client_secret')) != (
                wanted['tenant_id'], wanted['client_id'],
                wanted['client_secret']):
            return Answer(401, {
                'error': 'invalid_client', 'error_codes': [7000215],
                'error_description': 'AADSTS7000215: Invalid client secret '
                                     'provided.'})
        token = uuid.uuid4().hex
        self.tokens.add(token)
        return {'token_type': 'Bearer', 'access_token': token,
                'expires_in': str(LIFE), 'resource': given.get('resource'),
                'expires_on': str(int(time.time()) + LIFE)}

    def check(self, request, subscription, **place):
        """:raises Refusal: the call is nobody's, or of no version."""
        token = request.headers.get('authorization', '')
        if token.removeprefix('Bearer ') not in self.tokens:
            raise Refusal(401, 'Authentication failed.')
        if 'api-version' not in request.query:
            raise Refusal(
                400, 'The api-version query parameter (?api-version=) is '
                     'required for all requests.',
                'MissingApiVersionParameter')
        if subscription.lower() != self.azure.subscription:
            raise Refusal(404, f"The subscription '{subscription}' could not "
                               'be found.', 'SubscriptionNotFound')
