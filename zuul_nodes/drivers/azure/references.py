"""Resolve the names in a configuration to references of the API."""

import json

from zuul_nodes.drivers import Memory, PermanentError

# A list has few pages; callers wait this many times the time-out of a call.
TIMEOUT_FACTOR = 3
GALLERIES = (('community_gallery_image', 'communityGalleryImageId',
              'CommunityGalleries'),
             ('shared_gallery_image', 'sharedGalleryImageId',
              'SharedGalleries'))


class References:
    """Resolves images, subnets and identities.

    :param get_client: returns the client.
    """

    def __init__(self, get_client):
        self.get_client = get_client
        self.memory = Memory()

    def getImage(self, spec):
        """
        :return: a dict, the ``imageReference`` for the API.
        :raises PermanentError: there is no such image.
        """
        image = spec.image
        if spec.image_id or image.image_id:
            return {'id': spec.image_id or image.image_id}
        if image.image_reference:
            return dict(image.image_reference)
        for attribute, key, kind in GALLERIES:
            if given := getattr(image, attribute):
                # Without a version, Azure uses the newest one.
                version = given.get('version')
                return {key: f'/{kind}/{given["gallery_name"]}/Images/'
                             f'{given["name"]}'
                             + (f'/Versions/{version}' if version else '')}
        return {'id': self._findImage(image)}

    def getSubnet(self, label, group):
        """
        :param str group: used if the label does not set a resource group.
        :return: an id.
        """
        if label.subnet_id:
            return label.subnet_id
        given = label.subnet_reference
        return self.get_client().subnets.id(
            resourceGroupName=given.get('resource_group') or group,
            virtualNetworkName=given['network'],
            resourceName=given.get('subnet') or 'default')

    def getIdentities(self, label, group):
        """:return: a list of ids, each once."""
        crud = self.get_client().resource_group_managed_identities
        return list(dict.fromkeys(crud.id(
            resourceGroupName=given.get('resource_group') or group,
            resourceName=given['name'])
            for given in label.user_assigned_identities))

    def _findImage(self, image):
        wanted = {key: value for key, value in (
            image.image_filter or {}).items() if value}
        client = self.get_client()
        return self.memory.get(
            json.dumps(wanted, sort_keys=True),
            lambda: _findLast(client.images.list(), image.name, wanted),
            TIMEOUT_FACTOR * client.timeout)


def _findLast(images, image_name, wanted):
    found = [each for each in images if _matches(each, wanted)]
    if not found:
        raise PermanentError(
            f'Image "{image_name}": there is no image with '
            + ' and '.join(f'{name} {value!r}'
                           for name, value in wanted.items()))
    return max(found, key=lambda each: each['name'])['id']


def _matches(image, wanted):
    tags = image.get('tags') or {}
    return (image['properties'].get('provisioningState') == 'Succeeded'
            and all(image.get(name) == wanted.get(name, image.get(name))
                    for name in ('name', 'location'))
            and all(tags.get(name) == value for name, value in (
                wanted.get('tags') or {}).items()))
