"""What tenants write is data for openstacksdk, and nothing else."""

import inspect
import os

from openstack.image.v2._proxy import Proxy
from openstack.proxy import Proxy as BaseProxy
from openstack.resource import Resource
import pytest

from tests.unit.drivers.openstack.nodesites import change
from tests.unit.drivers.openstack.sites import LAYOUT, NAME, getTags
from zuul_nodes.configloader.errors import AttributeValueError
from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.openstack.config.attributes import RESERVED
from zuul_nodes.drivers.openstack.images.newimage import ImageFailed

DATA = b'an image'
SECRET = b'[connection github]\napp_key=secret\n'


def getArguments(*functions):
    return sorted({
        name for function in functions
        for name, parameter in inspect.signature(function).parameters.items()
        if name != 'self'
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD,
                               parameter.KEYWORD_ONLY)})


# Whatever openstacksdk could take for its own.
OF_LISTS = getArguments(Proxy.images, BaseProxy._list, Resource.list)
OF_CREATION = getArguments(Proxy.create_image, Proxy._upload_image)


def test_the_arguments_are_those_of_openstacksdk():
    assert {'base_path', 'paginated', 'headers'} <= set(OF_LISTS)
    assert {'filename', 'data', 'container'} <= set(OF_CREATION)


def test_a_filter_is_no_argument(makeNodes, cloud, file_server):
    """It does not change whom the launcher sends its token to."""
    url = f'{file_server.url}/images'
    nodes = makeNodes(change('image-filters: {visibility: public}',
                             f'image-filters: {{base_path: "{url}"}}'))
    list(nodes.provider.getChecks())
    with pytest.raises(PermanentError, match='base_path'):
        nodes.create(nodes.makeNode())
    for name in OF_LISTS:
        with pytest.raises(PermanentError, match=name):
            nodes.lookups.findImage('debian-12', {name: url})
    assert file_server.requests == []
    assert cloud.calls.count(('GET', '/image/v2/images')) > len(OF_LISTS)


def upload(site, path):
    return site.provider.getImageUploadJob(
        site.image, NAME, 'qcow2', getTags(site), None, None,
    ).run(str(path))


@pytest.fixture
def image(tmp_path):
    """:return: the file of an image."""
    path = tmp_path / 'image'
    path.write_bytes(DATA)
    return path


def test_a_tag_is_no_argument(makeSite, cloud, image, tmp_path):
    """It does not change which file is read."""
    secret = tmp_path / 'zuul.conf'
    secret.write_bytes(SECRET)
    site = makeSite(tags={
        name: str(secret) for name in OF_CREATION if name not in RESERVED})
    image_id = upload(site, image)
    assert cloud.glance.data == {image_id: DATA}
    glance_image = cloud.glance.images[image_id]
    assert (glance_image['filename'], glance_image['name']) == (
        str(secret), NAME)


def test_an_image_with_a_tag_that_glance_has_is_not_made(
        makeSite, cloud, image):
    """The configuration may have been read by Zuul's own driver."""
    site = makeSite(tags={'owner': 'somebody'})
    with pytest.raises(ImageFailed, match='owner'):
        upload(site, image)
    assert not cloud.glance.images


def test_the_name_of_an_image_is_no_file(
        makeSite, cloud, image, tmp_path, monkeypatch):
    """openstacksdk uploads a file that is called like a new image."""
    monkeypatch.chdir(tmp_path)
    with open(os.path.join(tmp_path, NAME), 'wb') as file:
        file.write(SECRET)
    image_id = upload(makeSite(), image)
    assert cloud.glance.data == {image_id: DATA}


def test_a_tag_does_not_say_what_glance_says(makeSite):
    for name in RESERVED:
        text = LAYOUT.replace('type: zuul}',
                              f'type: zuul, tags: {{{name}: x}}}}')
        with pytest.raises(AttributeValueError) as info:
            makeSite(text=text)
        message = str(info.value)
        assert f'"{name}" is a field of images in Glance' in message
        assert 'project example.com/nodes, branch main, file ' in message
