"""What schedulers tell of the images and the pipelines of each tenant.

Launchers, schedulers and zuul-web all have layouts by which they know which
tenants there are, but not all that there is to know of the images of others.
"""

import threading

from zuul_nodes import imagelayouts


class ImagePipelines:
    """
    :param service: one of Zuul, with a ``zk_client`` and with
        ``local_layout_state``: tenant -> the state of the layout that the
        service has.
    :param changed: called when something has changed; or None.
    """

    def __init__(self, service, changed=None):
        self.service = service
        self.changed = changed
        self._lock = threading.RLock()
        self._watched = set()
        # Tenant -> what its scheduler says; bytes if that can't be read.
        self._layouts = {}

    def getTenants(self):
        """:return: a sorted list of the names of those that there are."""
        return sorted(self.service.local_layout_state)

    def get(self, tenant_name):
        """
        :return: :class:`zuul_nodes.imagelayouts.ImageLayout`, or None if
            there is no such tenant or no scheduler says anything.
        :raises ValueError: what it says can't be read.
        """
        if tenant_name not in self.service.local_layout_state:
            return None
        # It is read before others go on.
        with self._lock:
            if tenant_name not in self._watched:
                self.service.zk_client.client.DataWatch(
                    imagelayouts.getPath(tenant_name),
                    lambda data, stat: self._note(tenant_name, data))
                self._watched.add(tenant_name)
        data = self._layouts.get(tenant_name)
        if data is None:
            return None
        if isinstance(data, imagelayouts.ImageLayout):
            return data
        raise ValueError(f'What schedulers say of the images of tenant '
                         f'{tenant_name} can not be read')

    def getAll(self):
        """:return: dict of tenant -> what its scheduler says; those that it
            says nothing of are left out."""
        return {name: layout
                for name in self.getTenants()
                if (layout := self.get(name))}

    def getCurrent(self):
        """
        :return: dict of tenant -> what its scheduler says of the layout
            that we have, too; those that it says nothing of are left out.
        """
        states = self.service.local_layout_state
        return {name: layout for name, layout in self.getAll().items()
                if (state := states.get(name))
                and layout.layout_uuid == state.uuid}

    def isGone(self, canonical_name, project_name):
        """
        :param canonical_name: of an image.
        :param project_name: the canonical name of its project.
        :return: whether no tenant has the image, and no error in that
            project's configuration is the reason.
        """
        return self.isComplete({project_name}) and not any(
            canonical_name in layout.images
            for layout in self.getCurrent().values())

    def isComplete(self, project_names):
        """
        :param set project_names: canonical ones.
        :return: whether schedulers have told of the layouts of all tenants,
            and none of them has an error in these projects.
        """
        current = self.getCurrent()
        return (len(current) == len(self.service.local_layout_state) > 0
                and all(project_names.isdisjoint(layout.broken)
                        for layout in current.values()))

    def _note(self, tenant_name, data):
        """The record of a tenant has changed.

        :return: whether it is to be watched any more.
        """
        self._layouts[tenant_name] = (
            imagelayouts.parse(data) or data if data else None)
        if self.changed:
            self.changed()
        return True
