"""The seam at which zuul-web shows the images and flavors of a provider.

It hides those that were made up because Zuul requires an image and a flavor
for every label.
"""

import functools

from zuul_nodes.madeup import isMadeUp


def wrapToDict(convert, extensions):
    @functools.wraps(convert)
    def wrapper(tenant, provider, build_artifacts, uploads):
        data = convert(tenant, provider, build_artifacts, uploads)
        for kind, known in (('images', tenant.layout.images),
                            ('flavors', tenant.layout.flavors)):
            data[kind] = [part for part in data[kind] if not isMadeUp(
                part['name'], provider.labels, known)]
        return data
    return staticmethod(wrapper)
