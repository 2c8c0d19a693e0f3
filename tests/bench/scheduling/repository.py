"""The one git repository that a scheduler reads here."""

import subprocess

from zuul_nodes.quickstart.repositories import (
    AUTHOR,
    BRANCH,
    gitEnvironment,
)

TENANT = 'tenant'
PIPELINE = 'check'
PROJECT = 'config'
TENANTS = f'''\
- tenant:
    name: {TENANT}
    source: {{git: {{config-projects: [{PROJECT}]}}}}
'''
CONFIG = f'''\
- pipeline: {{name: {PIPELINE}, manager: independent, trigger: {{}}}}
- project: {{{PIPELINE}: {{jobs: [noop]}}}}
'''


def makeRepository(directory, files):
    """
    :param Path directory: of it; with :data:`PROJECT` as its name.
    :param dict files: name -> content.
    """
    directory.mkdir(parents=True)
    for name, content in files.items():
        (directory / name).write_text(content)
    for command in (('init', '--quiet', f'--initial-branch={BRANCH}'),
                    ('add', '--all'),
                    ('commit', '--quiet', '--message=Begin')):
        subprocess.run(['git', *command], cwd=directory, check=True,
                       env=gitEnvironment() | AUTHOR)
