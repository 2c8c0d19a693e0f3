"""What launchers decide about builds and uploads of images, and why."""

import collections
import logging
import time

from zuul.model import ImageBuildArtifact, ImageUpload
from zuul.provider import BaseProvider
from zuul.zk.zkobject import ZKContext

from zuul_nodes import providerrecords, zkrecords
from zuul_nodes.cmd.common.connections import Connections
from zuul_nodes.cmd.images.records import LAYOUTS
from zuul_nodes.launcher.images import Stock
from zuul_nodes.launcher.providers import Scope
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.zookeeper import makeRecord

log = logging.getLogger('zuul.nodes.cmd')
log.addHandler(logging.NullHandler())


def judge(zk_client, config, images, layouts):
    """
    :param ReadOnlyZooKeeper zk_client: connected.
    :param ConfigParser config: zuul.conf.
    :param list images: as of :func:`.records.readImages`.
    :param dict layouts: as of :func:`.records.readLayouts`.
    :return: the id of each upload, and of each build that is ready or being
        deleted -> its :class:`.policy.Verdict`.
    :raises UserError: zuul.conf is invalid, or a driver cannot be loaded.
    """
    builds = [build for image in images for build in image['builds']]
    stock = Stock(
        _readScope(zk_client, Connections(config)),
        {build['uuid']: makeRecord(ImageBuildArtifact, **build)
         for build in builds},
        [makeRecord(ImageUpload, **upload)
         for build in builds for upload in build['uploads']],
        {build['uuid'] for build in builds if build['kept'] is not None},
        {build['uuid'] for build in builds if build['file_gone'] is not None},
        lambda projects: (
            layouts.keys() == zkrecords.getNames(zk_client.client, LAYOUTS)
            and all(projects.isdisjoint(layout.broken)
                    for layout in layouts.values())))
    due = time.time() - Settings.read(config).unneeded_image_delay
    unneeded, _ = stock.findUnneeded()
    stock.overdue = unneeded & {
        record['uuid'] for build in builds for record in (
            build, *build['uploads'])
        if (record['unneeded_since'] or due + 1) <= due}
    return {
        **{each.uuid: stock.judgeUpload(each) for each in stock.uploads},
        **{each.uuid: stock.judgeArtifact(each)
           for each in stock.artifacts.values()
           if each.state in (each.State.READY, each.State.DELETING)}}


def _readScope(zk_client, connections):
    """:return: the :class:`.Scope` of all tenants, as launchers have it."""
    context = ZKContext(zk_client, None, None, log)
    providers = collections.defaultdict(list)
    unreadable = collections.defaultdict(dict)
    client = zk_client.client
    for tenant_name in zkrecords.getNames(client, providerrecords.TENANTS):
        for name in providerrecords.getNames(client, tenant_name):
            try:
                providers[tenant_name].append(BaseProvider.fromZK(
                    context, providerrecords.getPath(tenant_name, name),
                    connections, None, zk_client))
            except Exception as error:
                # Its driver may be missing here.
                unreadable[tenant_name][name] = error
    return Scope(providers, unreadable)
