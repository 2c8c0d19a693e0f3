"""Files of a tenant with one static node, its label and a job.

For :class:`~tests.unit.configloader.tenant.Tenant`.
"""

from tests.unit.configloader.tenant import CONFIG, NODES

JOBS = '''
- job:
    name: base
    parent: null
'''
LABELS = '''\
- image: {name: debian, type: cloud}

- flavor: {name: small}

- label:
    name: debian
    image: debian
    flavor: small
    description: Stable.
'''
SECTION = '''
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [small]
    nodes: [{name: 192.0.2.1, label: debian}]
'''
PROVIDER = '''
- provider:
    name: desk
    section: desk
    labels: [debian]
'''
NEW_LABEL = '''
- label: {name: sid, image: debian, flavor: small}
'''
JOB = '''
- job:
    name: testjob
    nodeset:
      nodes: [{name: node, label: %s}]
'''

BASE_FILE = (CONFIG, 'main', 'zuul.yaml')
LABELS_FILE = (NODES, 'main', 'zuul.d/labels.yaml')
PROVIDER_FILE = (NODES, 'main', 'zuul.d/provider.yaml')
JOBS_FILE = (NODES, 'main', 'zuul.d/jobs.yaml')
FILES = {
    BASE_FILE: JOBS,
    LABELS_FILE: LABELS,
    PROVIDER_FILE: SECTION + PROVIDER,
    JOBS_FILE: JOB % 'debian',
}
