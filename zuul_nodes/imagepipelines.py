"""The images and image pipelines of every tenant, from schedulers' records.

Launchers, schedulers and zuul-web have layouts, which tell them the existing
tenants.  The records tell them the images of tenants that another service has
loaded.
"""

import threading

from zuul_nodes import imagelayouts


class ImagePipelines:
    """
    :param service: a service of Zuul, with ``zk_client`` and with
        ``local_layout_state``: tenant -> the state of the layout that the
        service has loaded.
    :param changed: called after a record has changed; or None.
    """

    def __init__(self, service, changed=None):
        self.service = service
        self.changed = changed
        self._lock = threading.RLock()
        self._watched = set()
        # Tenant -> its ImageLayout; the bytes of the record if invalid.
        self._layouts = {}

    def getTenants(self):
        """:return: a sorted list of the names of the existing tenants."""
        return sorted(self.service.local_layout_state)

    def get(self, tenant_name):
        """
        :return: :class:`zuul_nodes.imagelayouts.ImageLayout`; None if there
            is no such tenant, or no scheduler has written its record.
        :raises ValueError: the record is invalid.
        """
        if tenant_name not in self.service.local_layout_state:
            return None
        # Within the lock, so that other threads wait for the first read.
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
        raise ValueError(f'The image record of the tenant {tenant_name} is '
                         f'invalid')

    def getAll(self):
        """:return: dict of tenant -> ImageLayout, without tenants that have
            no record."""
        return {name: layout
                for name in self.getTenants()
                if (layout := self.get(name))}

    def getCurrent(self):
        """
        :return: dict of tenant -> ImageLayout, for the tenants whose record
            describes the layout that this service has loaded.
        """
        states = self.service.local_layout_state
        return {name: layout for name, layout in self.getAll().items()
                if (state := states.get(name))
                and layout.layout_uuid == state.uuid}

    def isComplete(self, project_names):
        """
        :param set project_names: canonical names.
        :return: whether the records of all tenants describe current layouts,
            without an error in these projects.
        """
        current = self.getCurrent()
        return (len(current) == len(self.service.local_layout_state) > 0
                and all(project_names.isdisjoint(layout.broken)
                        for layout in current.values()))

    def _note(self, tenant_name, data):
        """Handle a change of a tenant's record.

        :return: True, to continue the watch.
        """
        self._layouts[tenant_name] = (
            imagelayouts.parse(data) or data if data else None)
        if self.changed:
            self.changed()
        return True
