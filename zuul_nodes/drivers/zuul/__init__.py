"""Zuul's own driver, extended with everything that images need.

Jobs build images: an event makes a pipeline run a job, and a reporter of that
pipeline records the images.  Most of this is in Zuul's driver for its own
triggers and reporters, which this one extends.
"""

import logging

import voluptuous as vs
from zuul.driver.util import scalar_or_list
import zuul.driver.zuul
from zuul.driver.zuul import IMAGE_BUILD

from zuul_nodes import (
    imagelayouts,
    imageproblems,
    imagetenants,
    labelproblems,
)
from zuul_nodes.drivers.zuul import (
    deletion,
    formats,
    imagewarnings,
    labels,
    layouts,
    variables,
)
from zuul_nodes.drivers.zuul.event import ZuulTriggerEvent
from zuul_nodes.drivers.zuul.reporter import ZuulReporter
from zuul_nodes.imagepipelines import ImagePipelines

log = logging.getLogger('zuul.nodes.drivers.zuul')


class ZuulDriver(zuul.driver.zuul.ZuulDriver):
    """
    :ivar Scheduler sched: None in processes other than schedulers.
    :ivar ImagePipelines pipelines: the image layouts of all tenants, as
        recorded by schedulers; None in processes that are neither scheduler
        nor zuul-web.
    :ivar dict image_tenants: as of :func:`zuul_nodes.imagetenants.read`, in
        schedulers.
    """

    sched = None
    pipelines = None
    image_tenants = imagetenants.UNLIMITED

    def registerScheduler(self, scheduler):
        """
        :raises UserError: an option in zuul.conf is invalid.
        """
        super().registerScheduler(scheduler)
        self.image_tenants = imagetenants.read(scheduler.config)
        self.pipelines = ImagePipelines(scheduler)

    def reconfigure(self, tenant):
        """Called when a tenant has a new layout.

        Zuul calls this in each scheduler, which holds a lock of the tenant,
        before it notifies launchers of the layout.
        """
        super().reconfigure(tenant)
        deletion.addReporters(self, tenant)
        client = self.sched.zk_client.client
        for what, publish in (
                ('images', lambda: self.publishImages(tenant)),
                ('labels', lambda: labelproblems.publish(
                    client, tenant.name,
                    labels.findProblems(tenant.layout)))):
            try:
                publish()
            except Exception:
                # The layout takes effect nevertheless.
                log.exception('Unable to publish the %s of tenant %s for '
                              'launchers:', what, tenant.name)

    def publishImages(self, tenant, sources=None):
        """Write the record of a tenant's current layout for all services.

        :param Tenant tenant: with its layout.
        :param dict sources: as of :func:`.layouts.makeImageLayout`; None for
            those of the last record.
        """
        client = self.sched.zk_client.client
        if sources is None:
            last = imagelayouts.read(client, tenant.name)
            sources = last.getSources() if last else {}
        imagelayouts.publish(client, tenant.name, layouts.makeImageLayout(
            tenant, self.image_tenants, sources))

    def getTriggerSchema(self):
        return {**super().getTriggerSchema(), vs.Required('event'):
                scalar_or_list(vs.Any(
                    zuul.driver.zuul.PARENT_CHANGE_ENQUEUED,
                    zuul.driver.zuul.PROJECT_CHANGE_MERGED,
                    *layouts.EVENTS))}

    def getTriggerEventClass(self):
        return ZuulTriggerEvent

    def getImageDeleteEvent(self, image_names, project_hostname, project_name,
                            project_branch, image_build_uuid):
        """
        :param list image_names: the name of one image.
        :param str image_build_uuid: the id of its artifact.
        """
        # Zuul's class does not serialize the id of the artifact.
        event = ZuulTriggerEvent.fromDict(super().getImageDeleteEvent(
            image_names, project_hostname, project_name, project_branch,
            image_build_uuid).toDict())
        event.image_build_uuid = image_build_uuid
        return event

    def getReporter(self, connection, pipeline, config=None,
                    parse_context=None):
        return ZuulReporter(self, connection, pipeline, config)

    def explainDenied(self, item, event, project_name):
        """
        :param QueueItem item: with results of work on an image.
        :param str event: that requests such work.
        :param str project_name: canonical name of the project of the image.
        :return: why the operator does not allow the work to the tenant of the
            item; None if it is allowed.
        """
        tenant_name = item.manager.tenant.name
        if self.image_tenants[event].allows(tenant_name, project_name):
            return None
        return imagetenants.explain(event, tenant_name, project_name)

    def findFormats(self, item, name):
        """
        :param QueueItem item: while the scheduler works on it.
        :param str name: of an image.
        :return: as :func:`zuul_nodes.drivers.zuul.formats.getFormats`.
        """
        return formats.getFormats(
            formats.getLayout(self.sched, item), self.pipelines, name)

    # Methods that the plugin calls

    def registerWeb(self, zuulweb, route_map):
        """Called when zuul-web makes the routes of its API."""
        # Other services do without a web server.
        from zuul_nodes.web.routes import addRoutes
        self.pipelines = ImagePipelines(zuulweb)
        addRoutes(zuulweb, route_map, self.pipelines)

    def getConfigurationWarnings(self, tenant):
        """
        :param Tenant tenant: with its layout.
        :return: a list of :class:`zuul.model.ConfigurationError`, the current
            warnings.
        """
        if self.pipelines is None:
            return []
        return imagewarnings.findWarnings(tenant, self.pipelines)

    def explainNoImageJob(self, tenant, name, event):
        """
        :param Tenant tenant: with its layout.
        :param str name: canonical name of an image.
        :param str event: ``image-build`` or ``image-validate``.
        :return: why no job of the tenant would run for such an event of the
            image, or its result would be ignored; None if one would run.
        """
        try:
            layout = self.pipelines.get(tenant.name)
        except ValueError:
            layout = None
        # Records of the previous release have no "runs".
        if not layout or 'runs' not in layout.images.get(name, {}):
            layout = layouts.makeImageLayout(tenant)
            if name not in layout.images:
                return None
        # The event of zuul-web names the image itself.
        is_own = event != IMAGE_BUILD or layout.getSource(name) == name
        if layout.getRuns(name, event) and is_own:
            return None
        return imageproblems.explainNoJob(layout, tenant.name, name, event)

    def getJobVariables(self, job, item):
        """
        :param FrozenJob job: of the item.
        :return: dict of additions to the job's variable ``zuul``.
        """
        return variables.getVariables(self, job, item)

    def getImageFormats(self, job, item):
        """
        :param FrozenJob job: of the item.
        :return: a sorted list of the formats of the image that the job
            builds; None if it builds none, or if the formats are unknown.
        """
        if not job.image_build_name:
            return None
        return self.findFormats(item, job.image_build_name)

    def keepImageFormats(self, layout, proposed):
        """Keep the formats that a change requests.

        :param Layout layout: of the change, with the current providers.
        :param Layout proposed: with the providers of the change.
        """
        formats.keepFormats(layout, proposed)
