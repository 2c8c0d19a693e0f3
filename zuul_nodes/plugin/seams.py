"""The table of seams: every place where Zuul calls us in its stead.

A seam is checked before any is used: Zuul's version must be one that
the package asks for, and what is wrapped must have the signature
that the wrapper was written for.  A new release of Zuul means work in
this table and the modules it names, and nowhere else.
"""

from collections.abc import Callable
import dataclasses
import importlib

from zuul_nodes.plugin import (
    buildparams,
    components,
    configwarnings,
    imagedeletes,
    imageformats,
    launchers,
    layouts,
    madeupparts,
    nodecomments,
    nodesets,
    parsers,
    registry,
    requestprojects,
    webstart,
)
from zuul_nodes.signatures import Known, findVersionMismatch


@dataclasses.dataclass(frozen=True)
class Seam(Known):
    """
    :ivar why: what it is for.
    :ivar wrap: takes the original and the Extensions; returns what replaces
        it.
    """
    why: str
    wrap: Callable

    def substitute(self, extensions):
        host = importlib.import_module(self.module)
        *class_names, name = self.attribute.split('.')
        for class_name in class_names:
            host = getattr(host, class_name)
        setattr(host, name, self.wrap(self.original, extensions))


SEAMS = (
    Seam('zuul.lib.connections', 'ConnectionRegistry.configure',
         '(self, config, database=False, sources=False, triggers=False, '
         'reporters=False, providers=False)',
         'drivers of every installed package, and their default connections',
         registry.wrapConfigure),
    Seam('zuul.configloader', 'ParseContext.__init__',
         '(self, connections, zuul_globals, system, ansible_manager)',
         'parsers of the configuration objects',
         parsers.wrapParseContext),
    Seam('zuul.configloader', 'TenantParser._addLayoutItems',
         '(self, layout, tenant, parsed_config, parse_context, '
         'dynamic_layout=False)',
         'what no provider uses is checked, too',
         layouts.wrapAddUnused),
    Seam('zuul.configloader', 'TenantParser._addLayoutItems',
         '(self, layout, tenant, parsed_config, parse_context, '
         'dynamic_layout=False)',
         'what a change proposes for nodes and images is not yet there',
         layouts.wrapAddLayoutItems),
    Seam('zuul.configloader', 'TenantParser.loadProjectYAML',
         '(self, data, source_context, parse_context)',
         'a file that can not be read stays an error until it can',
         layouts.wrapLoadProjectYAML),
    Seam('zuul.configloader', 'TenantParser._addLayoutItems',
         '(self, layout, tenant, parsed_config, parse_context, '
         'dynamic_layout=False)',
         'a provider in error goes on as it was',
         layouts.wrapAddItemsOfTenant),
    Seam('zuul.configloader', 'ConfigLoader.createDynamicLayout',
         '(self, item, files, additional_project_branches, '
         'ansible_manager, include_config_projects=False)',
         'jobs of a change build images in the formats that it asks for',
         imageformats.wrapCreateDynamicLayout),
    Seam('zuul.configloader', 'ConfigLoader.createDynamicLayout',
         '(self, item, files, additional_project_branches, '
         'ansible_manager, include_config_projects=False)',
         'the change is told what of it has to merge first',
         layouts.wrapCreateDynamicLayout),
    Seam('zuul.model', 'NodeSet.validateReferences',
         '(self, layout)',
         'a label that no provider offers is unknown',
         layouts.wrapValidateNodeset),
    Seam('zuul.model', 'Layout._addIdenticalObject',
         '(self, obj_type, obj_dict, new_obj)',
         'an error about a name that is given twice says where both are',
         layouts.wrapAddIdenticalObject),
    Seam('zuul.manager', 'PipelineManager._useNodepoolFallback',
         '(self, log, job)',
         'a label that the tenant has is never one of Nodepool',
         nodesets.wrapUseNodepool),
    Seam('zuul.launcher.client', 'LauncherClient.getNodesetInfo',
         '(self, request)',
         'nodes of one provider for a paused job and those that wait for it',
         nodesets.wrapGetNodesetInfo),
    Seam('zuul.launcher.client', 'LauncherClient.requestNodeset',
         '(self, item, job, priority, relative_priority, '
         'preferred_provider, pipeline_run_id)',
         'tags of nodes can say of which project the job is',
         requestprojects.wrapRequestNodeset),
    Seam('zuul.model', 'NodesetRequest.serialize',
         '(self, context)',
         'the record of a request keeps the project of its job',
         requestprojects.wrapSerialize),
    Seam('zuul.launcher.server', 'Launcher.doesProviderHaveQuotaForNode',
         '(self, provider, node, messages)',
         'launchers of Zuul go on with nodes that ours have begun',
         launchers.wrapHasQuotaForNode),
    Seam('zuul.launcher.server', 'Launcher._cachesReadyForRequest',
         '(self, request)',
         'launchers of Zuul go on with requests whose nodes have failed',
         launchers.wrapCachesReady),
    Seam('zuul.executor.common', 'construct_build_params',
         '(uuid, connections, job, item, pipeline, dependent_changes=[], '
         'merger_items=[], redact_secrets_and_keys=True)',
         'drivers tell a job what it has to know',
         buildparams.wrapConstructBuildParams),
    Seam('zuul.executor.client', 'ExecutorClient.getImageFormats',
         '(self, job, item)',
         'formats of images are those of the layout that a job is of',
         imageformats.wrapGetImageFormats),
    Seam('zuul.web', 'ZuulWeb.start',
         '(self)',
         'drivers know in zuul-web what other tenants want of images',
         webstart.wrapStart),
    Seam('zuul.web', 'ZuulWebAPI.config_errors',
         '(self, tenant_name, tenant, auth, project=None, branch=None, '
         'severity=None, name=None, limit=50, skip=0)',
         'users are warned of images that no tenant builds',
         configwarnings.wrapTellErrors),
    Seam('zuul.web', 'ZuulWebAPI.tenant_status',
         '(self, tenant_name, tenant, auth)',
         'warnings count among the errors of a tenant',
         configwarnings.wrapTellErrors),
    Seam('zuul.web', 'ZuulWebAPI.image_build_artifact_delete',
         '(self, tenant_name, tenant, auth, artifact_id)',
         'deleting a build of an image leaves other builds in service, and '
         'the last one in service stays, unless a user insists',
         imagedeletes.wrapDeleteBuild),
    Seam('zuul.web', 'ZuulWebAPI.image_upload_delete',
         '(self, tenant_name, tenant, auth, upload_id)',
         'the last upload in service stays, unless a user insists',
         imagedeletes.wrapDeleteUpload),
    Seam('zuul.web', 'ProviderConverter.toDict',
         '(tenant, provider, build_artifacts, uploads)',
         'users see no images and flavors that they have not written',
         madeupparts.wrapToDict),
    Seam('zuul.web', 'ProviderNodeConverter.toDict',
         '(node)',
         'API and web UI show why a node has failed',
         nodecomments.wrapToDict),
    Seam('zuul.scheduler', 'Scheduler.prime',
         '(self, config)',
         'components start when the scheduler has its layouts',
         components.wrapPrime),
    Seam('zuul.scheduler', 'Scheduler.stop',
         '(self)',
         'components stop while ZooKeeper is still connected',
         components.wrapStop),
)


def findMismatches():
    """:return: a line for each thing about Zuul that is not as known."""
    version_mismatch = findVersionMismatch('zuul')
    if version_mismatch:
        # What another release looks like inside says nothing more.
        return [version_mismatch]
    return [mismatch for seam in SEAMS if (mismatch := seam.findMismatch())]


def substitute(extensions):
    """Put every seam's replacement in place.

    :param Extensions extensions: what comes in by the seams.
    """
    for seam in SEAMS:
        seam.substitute(extensions)
