"""A driver for a git server on which changes are reviewed.

Change 3 of a project is what is at refs/changes/3 in its repository.  It
is proposed by pushing it there, and enqueued by an operator.
"""

from zuul.driver.git import GitDriver, gitconnection, gitsource
from zuul.model import Change
from zuul.zk.change_cache import ChangeKey

gitconnection.GitChangeCache.CHANGE_TYPE_MAP['Change'] = Change


class ReviewSource(gitsource.GitSource):

    def getChangeKey(self, event):
        number = getattr(event, 'change_number', None)
        if not number:
            return super().getChangeKey(event)
        return ChangeKey(self.connection.connection_name,
                         event.project_name, 'Change', number, '1')


class ReviewConnection(gitconnection.GitConnection):
    driver_name = 'review'

    def getChange(self, change_key, refresh=False, event=None):
        if change_key.change_type != 'Change':
            return super().getChange(change_key, refresh, event)
        change = self._change_cache.get(change_key)
        if change is None:
            change = Change(self.source.getProject(change_key.project_name))
            change.number = change_key.stable_id
            change.patchset = change_key.revision
            change.ref = f'refs/changes/{change.number}'
            change.branch = 'master'
            change.message = ''
            # For Zuul to find out.
            change.files = None
            change.url = f'{self.baseurl}/{change.number}'
            change.open = True
            self._change_cache.set(change_key, change)
        return change


class ReviewDriver(GitDriver):
    name = 'review'

    def getConnection(self, name, config):
        return ReviewConnection(self, name, config)

    def getSource(self, connection):
        return ReviewSource(self, connection)
