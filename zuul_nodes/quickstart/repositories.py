"""The git repositories that an operator and a developer would write.

They are copied from the folder ``git-repositories`` beside this file, one
folder for each repository.  With images, ``git-repositories-images`` is copied
over it.  Only ``nodes.yaml`` has placeholders: the port of the node's sshd and
the user who runs the quickstart.
"""

import os
import pathlib
import shutil
import string
import subprocess

TEMPLATES = pathlib.Path(__file__).parent / 'git-repositories'
IMAGE_TEMPLATES = TEMPLATES.with_name('git-repositories-images')
CONFIG_REPOSITORY = 'zuul-config'
DEMO_REPOSITORY = 'demo'
IMAGE_REPOSITORY = 'images'
# The list of tenants, which is not in a repository.
TENANTS = 'tenants.yaml'
BRANCH = 'master'

# The author of commits in the checkouts, also of those of people who try them
# and have not told git their name.
IDENTITY = {'user.name': 'Quickstart', 'user.email': 'quickstart@localhost'}


class Repositories:
    """Bare repositories, which Zuul reads, and a checkout of each.

    :param directory: for the bare repositories.
    :param checkouts: for the checkouts.
    """

    def __init__(self, directory, checkouts):
        self.directory = pathlib.Path(directory)
        self.checkouts = pathlib.Path(checkouts)

    @property
    def url(self):
        """The URL of the directory of the repositories."""
        return self.directory.as_uri()

    def create(self, variables, images=False):
        """Create all repositories, each with one commit.

        :param dict variables: the values of the placeholders.
        :param bool images: whether Zuul builds an image.
        """
        for templates in getTemplates(images):
            shutil.copytree(
                templates, self.checkouts, dirs_exist_ok=True,
                ignore=shutil.ignore_patterns(TENANTS))
        for checkout in self.checkouts.iterdir():
            self._create(checkout, variables)

    def _create(self, checkout, variables):
        bare = self.directory / checkout.name
        bare.mkdir(parents=True)
        self._git(bare, 'init', '--quiet', '--bare',
                  f'--initial-branch={BRANCH}')
        for path in checkout.rglob('nodes.yaml'):
            text = string.Template(path.read_text())
            path.write_text(text.substitute(variables))
        self._git(checkout, 'init', '--quiet', f'--initial-branch={BRANCH}')
        self._git(checkout, 'remote', 'add', 'origin', bare)
        for option, value in IDENTITY.items():
            self._git(checkout, 'config', option, value)
        self._commit(checkout, f'Add {checkout.name}')
        self._git(checkout, 'push', '--quiet', '--set-upstream', 'origin',
                  BRANCH)

    def push(self, message, repository=DEMO_REPOSITORY):
        """Add a line to ``commits.txt`` in a checkout, commit all changes in
        the checkout, and push.

        :return: the commit's hash.
        """
        checkout = self.checkouts / repository
        with open(checkout / 'commits.txt', 'a') as commits:
            commits.write(f'{message}\n')
        self._commit(checkout, message)
        self._git(checkout, 'push', '--quiet', 'origin', BRANCH)
        return self._git(checkout, 'rev-parse', 'HEAD')

    def _commit(self, checkout, message):
        self._git(checkout, 'add', '--all')
        self._git(checkout, 'commit', '--quiet', f'--message={message}')

    def _git(self, directory, *command):
        completed = subprocess.run(
            ['git', *command], cwd=directory, check=True, text=True,
            stdout=subprocess.PIPE, env=gitEnvironment())
        return completed.stdout.strip()


def getTemplates(images):
    """:return: the folders to copy, each over the previous one."""
    return [TEMPLATES, IMAGE_TEMPLATES] if images else [TEMPLATES]


def gitEnvironment():
    """:return: our environment, without the git configuration of the user and
        the system, which may sign commits, run hooks or replace URLs."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('GIT_')}
    environment |= {'GIT_CONFIG_NOSYSTEM': '1',
                    'GIT_CONFIG_GLOBAL': os.devnull}
    return environment
