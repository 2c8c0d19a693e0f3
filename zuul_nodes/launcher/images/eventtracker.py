"""The progress of events in Zuul: in a queue or as an item of a pipeline.

An event moves from the tenant's queue to those of pipelines and then becomes
an item.  Zuul writes the next place before it removes the former one, so a
search in this order misses no event.
"""

import json
import logging
import urllib.parse

from kazoo.exceptions import NoNodeError
from zuul.zk.event_queues import PIPELINE_TRIGGER_QUEUE, TENANT_TRIGGER_QUEUE

from zuul_nodes.launcher.zookeeper import decompress


class EventTracker:
    """Finds events in Zuul's queues and pipelines, and watches them.

    :param KazooClient client: of ZooKeeper.
    :param notify: called once for each answer when the found event has moved
        or is gone.  A lost connection may suppress the call.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, client, notify):
        self.client = client
        self.notify = notify

    def isUnderWay(self, tenant_name, pipeline_names, attribute, value):
        """Look for an event, and watch it until it moves on.

        :param tenant_name: the tenant that got the event.
        :param pipeline_names: the pipelines that may have taken it.
        :param str attribute: of the event, such as "image_upload_uuid".
        :param value: the value of the attribute, or a member of its list.
        :return: whether such an event exists.
        """
        return any(
            _has(event, attribute, value) and self.watch(path)
            for path, event in self._getEvents(tenant_name, pipeline_names))

    def findAll(self, tenant_name, pipeline_names, attribute):
        """Look for all events at once.

        :param others: see :meth:`isUnderWay`.
        :return: dict, value of the attribute -> a path to :meth:`watch`.
        """
        return {event[attribute]: path for path, event
                in self._getEvents(tenant_name, pipeline_names)
                if event.get(attribute)}

    def _getEvents(self, tenant_name, pipeline_names):
        """:return: yields the path and content of each event."""
        for path in self._getQueues(tenant_name, pipeline_names):
            for event_path, data in self._getAll(path):
                yield event_path, data.get('event_data') or {}
        for path in self._getPipelines(tenant_name, pipeline_names):
            for item_path, item in self._getAll(f'{path}/item'):
                yield item_path, item['event']['data']

    def isBuilding(self, tenant_name, pipeline_names, image_name):
        """Look for an item that builds an image.

        It does not have to come from an event: a timer or a user may have
        caused it.

        :param others: see :meth:`isUnderWay`.
        :return: whether such an event or item exists.
        """
        if self.isUnderWay(
                tenant_name, pipeline_names, 'image_names', image_name):
            return True
        for path in self._getPipelines(tenant_name, pipeline_names):
            for item_path, item in self._getAll(f'{path}/item'):
                if self._hasJob(item, image_name) and self.watch(item_path):
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
        # A new item has no jobs yet, so it may get any.
        return not build_set['job_graph'] or any(
            job.get('image_build_name') == image_name
            for _, job in self._getAll(f'{path}/job'))

    def _getQueues(self, tenant_name, pipeline_names):
        yield TENANT_TRIGGER_QUEUE.format(tenant=tenant_name)
        for name in pipeline_names:
            yield PIPELINE_TRIGGER_QUEUE.format(
                tenant=tenant_name, pipeline=name)

    def _getPipelines(self, tenant_name, pipeline_names):
        # zuul.model.PipelineState computes the same, but needs a layout.
        quote = urllib.parse.quote_plus
        for name in pipeline_names:
            yield f'/zuul/tenant/{quote(tenant_name)}/pipeline/{quote(name)}'

    def _getAll(self, path):
        """:return: yields the path and content of each record in a path."""
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
                # Zuul itself logs this as an error.
                self.log.debug('Unable to read %s', child_path)
                continue
            yield child_path, content

    def _read(self, path):
        raw, _ = self.client.get(path)
        return json.loads(decompress(raw))

    def watch(self, path):
        """:return: whether a path still exists, and is watched now."""
        try:
            # Items are written often, but their children change rarely.
            self.client.get_children(path, watch=self._notify)
        except NoNodeError:
            return False
        return True

    def _notify(self, event):
        self.notify()


def _has(event, attribute, value):
    found = event.get(attribute)
    return value in found if isinstance(found, list) else value == found
