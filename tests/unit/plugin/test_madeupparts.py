"""Users see the images and flavors that they have written, and no others."""

import pytest

from tests.unit.drivers.zuul.site import IMAGES, IMAGES_FILE, PROVIDERS_FILE

LABELS = IMAGES + '''
- image: {name: (bare), type: cloud}
- flavor: {name: ((bare))}
- label: {name: bare}
- label: {name: half, flavor: small}
'''
PROVIDERS = '''
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [small]
    nodes:
      - {name: 192.0.2.1, label: debian}
      - {name: 192.0.2.2, label: bare}
      - {name: 192.0.2.3, label: half}
- provider:
    name: desk
    section: desk
    labels: [debian, bare, half]
'''


@pytest.fixture
def web(makeWeb, loadTenant):
    web = makeWeb(loadTenant())
    web.addTenant(loadTenant({
        IMAGES_FILE: LABELS, PROVIDERS_FILE: PROVIDERS}).tenant, 'static')
    return web


def getNames(web, path, tenant):
    status, answer = web.ask(path, tenant=tenant)
    assert status == 200
    return {each['name'] for each in answer}


def test_providers(web):
    providers, = web.service.abide.tenants['static'].layout.providers.values()
    # They are made up around names that there are.
    assert providers.images.keys() == {'debian', '((bare))', '(half)'}
    assert providers.flavors.keys() == {'small', '(bare)'}
    status, (provider,) = web.ask('providers', tenant='static')
    assert status == 200
    assert {kind: [each['name'] for each in provider[kind]] for kind in (
        'images', 'flavors', 'labels')} == {
            'images': ['debian'], 'flavors': ['small'],
            'labels': ['debian', 'bare', 'half']}


def test_what_users_have_written_is_all_there(web):
    status, providers = web.ask('providers')
    assert status == 200
    assert {provider['name']: (
        {each['name'] for each in provider['images']},
        {each['name'] for each in provider['flavors']})
        for provider in providers} == {
            'rack': ({'debian', 'stock'}, {'small'}),
            'desk': ({'debian'}, {'small'})}
    assert getNames(web, 'images', 'tenant') == {'debian', 'fedora', 'stock'}
    # Also with a strange name.
    assert getNames(web, 'images', 'static') == {
        'debian', 'fedora', 'stock', '(bare)'}
    assert getNames(web, 'flavors', 'static') == {'small', '((bare))'}


def test_a_written_image_in_parentheses_is_shown(makeWeb, loadTenant):
    web = makeWeb(loadTenant({
        IMAGES_FILE: LABELS.replace(
            'label: {name: bare}',
            'label: {name: bare, image: (bare), flavor: ((bare))}'),
        PROVIDERS_FILE: PROVIDERS.replace(
            'images: [debian]', 'images: [debian, (bare)]').replace(
                'flavors: [small]', 'flavors: [small, ((bare))]')}))
    _, (provider,) = web.ask('providers')
    assert {each['name'] for each in provider['images']} == {
        'debian', '(bare)'}
    assert {each['name'] for each in provider['flavors']} == {
        'small', '((bare))'}
