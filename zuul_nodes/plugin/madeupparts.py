"""The seam at which zuul-web tells what a provider has.

Some of its images and flavors are there because Zuul wants every label to
have one.  Users, who have not written them, do not see them.
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
