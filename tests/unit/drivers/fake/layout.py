"""A tenant with one provider, of the driver that is an adapter."""

LAYOUT = '''
- image: {name: image, type: cloud}
- flavor: {name: small}
- label: {name: label, image: image, flavor: small}
- section:
    name: section
    connection: fake
    images: [image]
    flavors: [{name: small, cores: 2}]
- provider:
    name: provider
    section: section
    images: [image]
    labels: [{name: label, host-key-checking: false}]
'''
