"""Where events are in Zuul: waiting, or an item of a pipeline by now.

An event goes from the tenant's queue to those of pipelines, and then it
is an item.  Each is written before the one before it is removed.  So
whoever looks in this order misses none.
"""

import json
import logging
import urllib.parse

from kazoo.exceptions import NoNodeError
from zuul.zk.event_queues import PIPELINE_TRIGGER_QUEUE, TENANT_TRIGGER_QUEUE

from zuul_nodes.launcher.zookeeper import decompress


class EventTracker:
    """
    :param KazooClient client:
    :param tell: called, once for each answer, when what was found is
        elsewhere or gone.  A lost connection may keep it from being called.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, client, tell):
        self.client = client
        self.tell = tell

    def isUnderWay(self, tenant_name, pipeline_names, attribute, value):
        """Look for an event, and have somebody told when it has moved on.

        :param tenant_name: where the event is or was.
        :param pipeline_names: those that may have taken it.
        :param str attribute: of the event, such as "image_upload_uuid".
        :param value: what that attribute has, or contains.
        :return: whether there is such an event.
        """
        for path in self._getQueues(tenant_name, pipeline_names):
            for event_path, data in self._getAll(path):
                event = data.get('event_data') or {}
                if _has(event, attribute, value) and self._watch(event_path):
                    return True
        for path in self._getPipelines(tenant_name, pipeline_names):
            for item_path, item in self._getAll(f'{path}/item'):
                if _has(item['event']['data'], attribute, value) \
                        and self._watch(item_path):
                    return True
        return False

    def isBuilding(self, tenant_name, pipeline_names, image_name):
        """As :meth:`isUnderWay`, for an image that any item's job builds:
        also an item that is there by a timer or a user."""
        if self.isUnderWay(
                tenant_name, pipeline_names, 'image_names', image_name):
            return True
        for path in self._getPipelines(tenant_name, pipeline_names):
            for item_path, item in self._getAll(f'{path}/item'):
                if self._hasJob(item, image_name) and self._watch(item_path):
                    return True
        return False

    def _hasJob(self, item, image_name):
        path = item['current_build_set']
        if item['event']['data'].get('image_names') or not path:
            return False
        try:
            build_set = self._read(path)
        except NoNodeError:
            return False
        # Which jobs there are is not known at first.
        return not build_set['job_graph'] or any(
            job.get('image_build_name') == image_name
            for _, job in self._getAll(f'{path}/job'))

    def _getQueues(self, tenant_name, pipeline_names):
        yield TENANT_TRIGGER_QUEUE.format(tenant=tenant_name)
        for name in pipeline_names:
            yield PIPELINE_TRIGGER_QUEUE.format(
                tenant=tenant_name, pipeline=name)

    def _getPipelines(self, tenant_name, pipeline_names):
        # As zuul.model.PipelineState has it, for which one needs a layout.
        quote = urllib.parse.quote_plus
        for name in pipeline_names:
            yield f'/zuul/tenant/{quote(tenant_name)}/pipeline/{quote(name)}'

    def _getAll(self, path):
        """:return: yields the path and the content of each record there."""
        try:
            names = self.client.get_children(path)
        except NoNodeError:
            return
        for name in sorted(names):
            child_path = f'{path}/{name}'
            try:
                content = self._read(child_path)
            except NoNodeError:
                continue
            except ValueError:
                # Zuul complains of it.
                self.log.debug('Unable to read %s', child_path)
                continue
            yield child_path, content

    def _read(self, path):
        raw, _ = self.client.get(path)
        return json.loads(decompress(raw))

    def _watch(self, path):
        """:return: whether it is still there, and so watched."""
        try:
            # An item is written often, but has few children.
            self.client.get_children(path, watch=self._tell)
        except NoNodeError:
            return False
        return True

    def _tell(self, event):
        self.tell()


def _has(event, attribute, value):
    found = event.get(attribute)
    return value in found if isinstance(found, list) else value == found
