"""What the launchers have to work with, as a tenant writes it."""

import json

from tests.bench.launching.cloud import CONNECTION

LABEL = 'small'
LAYOUT = f'''
- image: {{{{name: debian, type: cloud}}}}
- flavor: {{{{name: small}}}}
- label:
    name: {LABEL}
    image: debian
    flavor: small
    min-ready: {{min_ready}}
'''
CLOUD = f'''
- section:
    name: cloud
    connection: {CONNECTION}
    images: [debian]
    flavors: [small]
'''
CLOUD_PROVIDER = f'''
- provider:
    name: cloud-{{number}}
    section: cloud
    resource-limits: {{limits}}
    labels:
      - {{{{name: {LABEL}, host-key-checking: false}}}}
'''
STATIC = f'''
- label: {{name: {LABEL}}}
- section:
    name: desk
    connection: null
    nodes:
      - {{name: 127.0.0.1, connection-port: 22, username: zuul,
         host-key-checking: false, label: {LABEL}}}
- provider: {{name: desk, section: desk, labels: [{LABEL}]}}
'''


def makeCloudText(providers=1, quota=None, min_ready=0):
    """
    :param int quota: how many nodes there may be in all providers.
    :param int min_ready: how many are made before anybody asks for them.
    :return: a layout with that many providers of the same cloud.
    """
    text = LAYOUT.format(min_ready=min_ready) + CLOUD
    for number in range(providers):
        limits = {} if quota is None else {
            'instances': (quota + number) // providers}
        text += CLOUD_PROVIDER.format(
            number=number, limits=json.dumps(limits))
    return text
