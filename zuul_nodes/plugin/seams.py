"""The table of seams: the functions of Zuul that the plugin wraps.

All seams are checked before any is used.  Zuul's version must be one that the
metadata of the package require, and each function must have the signature that
its wrapper expects.  Support for a new release of Zuul changes only this table
and the modules that it names.
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
    imagerequests,
    launchers,
    layouts,
    madeupparts,
    nodecomments,
    nodenotes,
    nodesets,
    parsers,
    registry,
    requestprojects,
    requestreasons,
    waitreasons,
    webstart,
)
from zuul_nodes.signatures import Known, findVersionMismatch


@dataclasses.dataclass(frozen=True)
class Seam(Known):
    """A function of Zuul, and its wrapper.

    :ivar why: the purpose of the wrapper.
    :ivar wrap: takes the original and the Extensions; returns the replacement.
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
         'objects that no provider uses are checked, too',
         layouts.wrapAddUnused),
    Seam('zuul.configloader', 'TenantParser._addLayoutItems',
         '(self, layout, tenant, parsed_config, parse_context, '
         'dynamic_layout=False)',
         'changes to nodes and images take effect when they have merged',
         layouts.wrapAddLayoutItems),
    Seam('zuul.configloader', 'TenantParser.loadProjectYAML',
         '(self, data, source_context, parse_context)',
         'a file that cannot be read stays an error until it can',
         layouts.wrapLoadProjectYAML),
    Seam('zuul.configloader', 'TenantParser._addLayoutItems',
         '(self, layout, tenant, parsed_config, parse_context, '
         'dynamic_layout=False)',
         'a provider in error keeps its last good definition',
         layouts.wrapAddItemsOfTenant),
    Seam('zuul.configloader', 'ConfigLoader.createDynamicLayout',
         '(self, item, files, additional_project_branches, '
         'ansible_manager, include_config_projects=False)',
         'jobs of a change build images in the formats that the change needs',
         imageformats.wrapCreateDynamicLayout),
    Seam('zuul.configloader', 'ConfigLoader.createDynamicLayout',
         '(self, item, files, additional_project_branches, '
         'ansible_manager, include_config_projects=False)',
         'warnings on a change name the objects that must merge first',
         layouts.wrapCreateDynamicLayout),
    Seam('zuul.model', 'NodeSet.validateReferences',
         '(self, layout)',
         'a label that no provider offers is unknown',
         layouts.wrapValidateNodeset),
    Seam('zuul.model', 'Layout._addIdenticalObject',
         '(self, obj_type, obj_dict, new_obj)',
         'an error about a duplicate name gives both locations',
         layouts.wrapAddIdenticalObject),
    Seam('zuul.manager', 'PipelineManager._useNodepoolFallback',
         '(self, log, job)',
         'requests for labels of the tenant are never sent to Nodepool',
         nodesets.wrapUseNodepool),
    Seam('zuul.launcher.client', 'LauncherClient.getNodesetInfo',
         '(self, request)',
         'a paused job and its children get nodes of one provider',
         nodesets.wrapGetNodesetInfo),
    Seam('zuul.launcher.client', 'LauncherClient.requestNodeset',
         '(self, item, job, priority, relative_priority, '
         'preferred_provider, pipeline_run_id)',
         "tags of nodes can contain the job's project",
         requestprojects.wrapRequestNodeset),
    Seam('zuul.model', 'NodesetRequest.serialize',
         '(self, context)',
         "the record of a request keeps its job's project, and its failure",
         requestprojects.wrapSerialize),
    Seam('zuul.model', 'ProviderNode.getNodeData',
         '(self, serialize_node=False)',
         'the record of a node says what it is made of, and for whom',
         nodenotes.wrapGetNodeData),
    Seam('zuul.manager', 'PipelineManager.onNodesProvisioned',
         '(self, request, nodeset_info, build_set)',
         'a job without nodes says why there are none',
         requestreasons.wrapOnNodesProvisioned),
    Seam('zuul.model', 'QueueItem.setNodeRequestFailure',
         '(self, job, error)',
         'a job without nodes says why there are none',
         requestreasons.wrapSetFailure),
    Seam('zuul.launcher.server', 'Launcher.doesProviderHaveQuotaForNode',
         '(self, provider, node, messages)',
         'launchers of Zuul continue with nodes that ours have begun',
         launchers.wrapHasQuotaForNode),
    Seam('zuul.launcher.server', 'Launcher._cachesReadyForRequest',
         '(self, request)',
         'launchers of Zuul continue with requests whose nodes have failed',
         launchers.wrapCachesReady),
    Seam('zuul.executor.common', 'construct_build_params',
         '(uuid, connections, job, item, pipeline, dependent_changes=[], '
         'merger_items=[], redact_secrets_and_keys=True)',
         'drivers add variables to jobs',
         buildparams.wrapConstructBuildParams),
    Seam('zuul.executor.client', 'ExecutorClient.getImageFormats',
         '(self, job, item)',
         "a job builds images in the formats of the job's own layout",
         imageformats.wrapGetImageFormats),
    Seam('zuul.web', 'ZuulWeb.generateRouteMap',
         '(api, oidc, include_auth)',
         'drivers in zuul-web add routes, and know the images of all tenants',
         webstart.wrapGenerateRouteMap),
    Seam('zuul.web', 'ZuulWebAPI.config_errors',
         '(self, tenant_name, tenant, auth, project=None, branch=None, '
         'severity=None, name=None, limit=50, skip=0)',
         'users are warned about images that no tenant builds',
         configwarnings.wrapTellErrors),
    Seam('zuul.web', 'ZuulWebAPI.nodeset_requests',
         '(self, tenant_name, tenant, auth)',
         'users see why their requests wait',
         waitreasons.wrapTellRequests),
    Seam('zuul.web', 'ZuulWebAPI.tenant_status',
         '(self, tenant_name, tenant, auth)',
         'the number of errors of a tenant includes warnings',
         configwarnings.wrapTellErrors),
    Seam('zuul.web', 'ZuulWebAPI.image_build',
         '(self, tenant_name, tenant, auth, image_name)',
         'a request for a build says why no job of the tenant would run',
         imagerequests.wrapBuild),
    Seam('zuul.web', 'ZuulWebAPI.image_upload_validate',
         '(self, tenant_name, tenant, auth, upload_id)',
         'a request for a validation says why no job would run',
         imagerequests.wrapValidate),
    Seam('zuul.web', 'ZuulWebAPI.image_build_artifact_delete',
         '(self, tenant_name, tenant, auth, artifact_id)',
         'deleting a build of an image leaves other builds in service, and '
         'the last one in service stays, unless forced',
         imagedeletes.wrapDeleteBuild),
    Seam('zuul.web', 'ZuulWebAPI.image_upload_delete',
         '(self, tenant_name, tenant, auth, upload_id)',
         'the last upload in service stays, unless forced',
         imagedeletes.wrapDeleteUpload),
    Seam('zuul.web', 'ProviderConverter.toDict',
         '(tenant, provider, build_artifacts, uploads)',
         'users see only images and flavors that are configured',
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


# The seams at which configuration is read.
READING = tuple(seam for seam in SEAMS
                if seam.module in ('zuul.configloader', 'zuul.model'))


def findMismatches(wanted):
    """
    :param wanted: seams to check.
    :return: a line for each seam that does not match.
    """
    version_mismatch = findVersionMismatch('zuul')
    if version_mismatch:
        # Mismatches of seams add nothing to an unsupported version.
        return [version_mismatch]
    return [mismatch for seam in wanted if (mismatch := seam.findMismatch())]


def substitute(wanted, extensions):
    """Put the replacements of seams in place.

    :param wanted: the seams.
    :param Extensions extensions: the classes from entry points.
    """
    for seam in wanted:
        seam.substitute(extensions)
