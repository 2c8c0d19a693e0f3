"""What tenants may use of what a project of Google's can reach."""

from hypothesis import given, settings, strategies
import pytest

from tests.fixtures.examples import countExamples
from tests.fixtures.layout import makeLayout
from tests.unit.drivers.gce.sites import LAYOUT, change
from zuul_nodes.configloader.errors import BoundError
from zuul_nodes.drivers import PermanentError, bounds
from zuul_nodes.drivers.gce import GceDriver, allowed

IMAGE = 'image-family: debian-12\n        image-project: debian-cloud'
LABEL = 'network-tags: [ci-node]'
ACCOUNT = 'ci@zuul.iam.gserviceaccount.com'
READ = 'https://www.googleapis.com/auth/devstorage.read_only'
URLS = 'https://www.googleapis.com/compute/v1/projects'


def load(text, **options):
    connection = GceDriver().getConnection('gce', {
        'driver': 'gce', 'project': 'zuul', **options})
    layout = makeLayout(text)
    config, = layout.provider_configs.values()
    return config.flattenConfig(layout, {'gce': connection})


def write(image=IMAGE, label=LABEL):
    return change(IMAGE, image).replace(LABEL, label)


@pytest.mark.parametrize(('options', 'image', 'refused'), [
    ({}, 'image-id: projects/others/global/images/secret', None),
    ({'image_projects': 'a, debian-cloud'}, IMAGE, None),
    ({'image_projects': 'a'}, IMAGE, '"debian-cloud"'),
    ({'image_projects': ''}, IMAGE, '"debian-cloud"'),
    ({'image_projects': ''}, 'image-family: ours', None),
    ({'image_projects': ''}, 'image-id: ours', None),
    ({'image_projects': ''}, 'image-id: projects/zuul/global/images/a', None),
    ({'image_projects': ''}, f'image-id: {URLS}/zuul/global/images/a', None),
    ({'image_projects': 'a'}, 'image-id: projects/b/global/images/a', '"b"'),
    ({'image_projects': 'a'}, f'image-id: {URLS}/b/global/images/a', '"b"'),
    # The project that counts is that of the path.
    ({'image_projects': 'a'}, 'image-project: a\n        '
     'image-id: projects/b/global/images/family/c', '"b"'),
    *(({'image_projects': 'a'}, image, 'not the path of an image')
      for image in (
          'image-id: https://example.com/projects/a/global/images/b',
          'image-id: projects/a/../b/global/images/c',
          'image-id: projects/a/global/images/../../../b/global/images/c',
          'image-id: projects/a/zones/b/disks/c',
          'image-id: projects/a/global/images/b?c',
          'image-id: global/images/b',
          'image-family: ../../../../b/global/images/c',
          'image-project: a/../b\n        image-id: c')),
])
def test_images_are_those_of_projects_that_the_operator_allows(
        options, image, refused):
    if refused is None:
        load(write(image), **options)
        return
    with pytest.raises(BoundError) as info:
        load(write(image), **options)
    message = str(info.value)
    assert refused in message
    assert 'its image "debian" is' in message
    assert '"image_projects" of [connection gce] in zuul.conf' in message
    assert 'project example.com/nodes, branch main, file ' in message


TEXT = strategies.text('ab/.:?#%@-\n', max_size=12)


@given(name=TEXT | strategies.builds(
    'projects/{}/global/images/{}'.format, TEXT, TEXT),
    family=TEXT, project=TEXT)
@settings(max_examples=countExamples(2000))
def test_no_image_leads_out_of_its_project(name, family, project):
    connection = GceDriver().getConnection('gce', {
        'driver': 'gce', 'project': 'zuul', 'image_projects': 'a'})
    try:
        allowed.check(connection, {'labels': [], 'images': [{
            'name': 'image', 'type': 'cloud', 'image-id': name,
            'image-family': family, 'image-project': project}]})
    except bounds.BoundError:
        return
    if name or family:
        path = allowed.makePath(name, family, project or 'zuul')
        assert path.split('/')[:4] in (
            ['projects', each, 'global', 'images'] for each in ('a', 'zuul'))
        assert not set(path.split('/')) & {'', '.', '..'}
        assert not set(path) & set('?#%@\n')


@pytest.mark.parametrize(('options', 'label', 'refused'), [
    ({}, 'service-account: {email: any}', None),
    ({'service_accounts': ''}, LABEL, None),
    ({'service_accounts': f'a,{ACCOUNT}'},
     f'service-account: {{email: {ACCOUNT}}}', None),
    ({'service_accounts': 'default'}, 'service-account: {}', None),
    ({'service_accounts': ''}, 'service-account: {}',
     'the service account "default"'),
    ({'service_accounts': ACCOUNT}, 'service-account: {email: other}',
     'the service account "other"'),
    ({'service_account_scopes': READ},
     f'service-account: {{scopes: {READ}}}', None),
    ({'service_account_scopes': READ},
     f'service-account: {{scopes: [{READ}]}}', None),
    ({'service_account_scopes': READ}, 'service-account: {}',
     'the scope "https://www.googleapis.com/auth/cloud-platform"'),
    ({'service_account_scopes': READ},
     f'service-account: {{scopes: [{READ}, other]}}', 'the scope "other"'),
])
def test_nodes_have_no_power_that_the_operator_does_not_allow(
        options, label, refused):
    if refused is None:
        load(write(label=label), **options)
        return
    with pytest.raises(BoundError) as info:
        load(write(label=label), **options)
    message = str(info.value)
    option, = options
    assert f'its label "debian" has {refused}, which "{option}" of ' in message


@pytest.mark.parametrize('url', [
    'gs://others/secret', 'https://storage.googleapis.com/others/secret'])
@pytest.mark.parametrize('buckets', ['', 'images'])
def test_a_job_can_not_have_an_image_of_another_bucket(
        gce, makeGceSite, tmp_path, url, buckets):
    site = makeGceSite(LAYOUT, buckets=buckets)
    gce.buckets.create('others', gce.project)
    gce.objects.create('others', 'secret', b'secret')
    path = tmp_path / 'file'
    for method, arguments in (
            (site.adapter.importImage,
             (site.makeImageSpec(format='tar.gz'), url)),
            (site.adapter.downloadUrl, (url, path))):
        with pytest.raises(PermanentError, match=(
                r'others/secret is in the bucket "others", which "buckets" '
                r'of \[connection gce\] in zuul.conf does not allow')):
            method(*arguments)
    assert not path.exists()
    assert not gce.calls['images.insert']


def test_a_job_has_an_image_of_a_bucket_that_is_allowed(
        gce, makeGceSite, tmp_path):
    site = makeGceSite(LAYOUT, buckets='images')
    gce.objects.create('images', 'disk', b'disk')
    assert site.adapter.downloadUrl('gs://images/disk', tmp_path / 'file')
