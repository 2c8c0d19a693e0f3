"""Identity, version 3: passwords, tokens, and the catalog."""

import uuid

from tests.emulators.emulation import Answer, Refusal
from tests.emulators.openstack.core import REGION, Service, newID, route

FAR = '2999-01-01T00:00:00.000000Z'
DOMAIN = {'id': 'default', 'name': 'Default'}


class Keystone(Service):
    """
    :ivar dict projects: id -> what is known of a project.
    :ivar dict users: name -> ``password`` and the ``projects`` that the
        user may use; the first of each are made.
    :ivar dict tokens: what has been given out: ``user``, ``project``.
    :ivar dict regions: name -> the cloud whose services are there.
    """

    type = 'identity'
    path = '/identity'
    version = '/v3'

    def __init__(self, cloud):
        super().__init__(cloud)
        self.projects = {}
        self.users = {}
        self.tokens = {}
        self.regions = {REGION: cloud}
        self.add('zuul', 'zuul', f'password-{uuid.uuid4().hex}')

    def add(self, project, user, password):
        """Make a project with a user.  :return: the project's id."""
        project_id = uuid.uuid4().hex
        self.projects[project_id] = {
            'id': project_id, 'name': project, 'domain': DOMAIN}
        self.users[user] = {'id': uuid.uuid4().hex, 'password': password,
                            'projects': [project_id]}
        return project_id

    def addRegion(self, name, cloud):
        """Have the services of another cloud in the catalog."""
        self.regions[name] = cloud

    def getCredentials(self, user='zuul'):
        """:return: what ``auth`` in clouds.yaml has, but its URL."""
        project_id, = self.users[user]['projects']
        return {'username': user, 'password': self.users[user]['password'],
                'project_name': self.projects[project_id]['name'],
                'user_domain_name': DOMAIN['name'],
                'project_domain_name': DOMAIN['name']}

    def formatError(self, refusal):
        return {'error': {'code': refusal.status, 'title': 'Error',
                          'message': refusal.message}}

    @route('GET', '', public=True)
    def getVersions(self, request):
        return Answer(300, {'versions': {'values': [self._getVersion()]}})

    @route('GET', '/v3', public=True)
    def getVersion(self, request):
        return {'version': self._getVersion()}

    def _getVersion(self):
        return {'id': 'v3.14', 'status': 'stable',
                'updated': '2020-04-07T00:00:00Z', 'media-types': [],
                'links': [{'rel': 'self', 'href': f'{self.url}/'}]}

    @route('POST', '/v3/auth/tokens', public=True)
    def createToken(self, request):
        auth = request.json['auth']
        given = auth['identity'].get('password', {}).get('user', {})
        user = self.users.get(given.get('name'))
        wanted = auth.get('scope', {}).get('project', {})
        project = user and next(
            (self.projects[project_id] for project_id in user['projects']
             if wanted.get('id', project_id) == project_id
             and wanted.get('name') in (
                 None, self.projects[project_id]['name'])), None)
        if (user is None or user['password'] != given.get('password')
                or project is None):
            raise Refusal(401, 'The request you have made requires '
                               'authentication.')
        secret = uuid.uuid4().hex
        self.tokens[secret] = {
            'user': {'id': user['id'], 'name': given['name'],
                     'domain': DOMAIN},
            'project': project}
        return Answer(201, {'token': {
            'methods': ['password'], 'expires_at': FAR,
            'issued_at': '2020-01-01T00:00:00.000000Z', 'audit_ids': [],
            'roles': [{'id': 'member', 'name': 'member'}],
            'catalog': self._getCatalog(), **self.tokens[secret]}},
            {'X-Subject-Token': secret})

    def _getCatalog(self):
        return [{
            'id': service.type, 'type': service.type, 'name': service.type,
            'endpoints': [{
                'id': newID(), 'interface': interface,
                'url': each.url, 'region': name, 'region_id': name,
            } for name, cloud in self.regions.items()
                for each in cloud.services if each.type == service.type
                for interface in ('internal', 'public')],
        } for service in self.cloud.services]
