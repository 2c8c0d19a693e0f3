"""A tenant of two projects, loaded by Zuul's own loader with our seams.

Only what Zuul would learn from elsewhere is made up: which projects,
branches and changes there are.
"""

import configparser
import functools
import textwrap
import types

from zuul import model
import zuul.configloader
from zuul.lib.connections import ConnectionRegistry
from zuul.zk.layout import LayoutProvidersStore

from zuul_nodes.plugin import extensions, seams

CONFIG = 'config'
NODES = 'nodes'
HOST = 'example.com'


class Source:
    canonical_hostname = HOST
    connection = types.SimpleNamespace(connection_name='git')

    def getProjectDefaultMergeMode(self, project, valid_modes=None):
        return 'merge'

    def getProjectDefaultBranch(self, project, tenant):
        return 'main'


MODULES = ('zuul.configloader', 'zuul.lib.connections', 'zuul.model')


@functools.cache
def _loadExtensions():
    """Load what is installed; the tests of this process change none of it."""
    return extensions.load()


def enter(monkeypatch, modules=MODULES):
    """Have seams in this process for the time of a test.

    :param modules: the modules of Zuul whose seams these are.
    """
    for seam in seams.SEAMS:
        if seam.module in modules:
            monkeypatch.setattr(f'{seam.module}.{seam.attribute}',
                                seam.wrap(seam.original, _loadExtensions()))


class Tenant:
    """A config project "config" and an untrusted project "nodes".

    :param dict files: (project, branch, path) -> text
    :param config: of zuul.conf, with the connections; by default empty.
    :param attributes: what else the tenant configuration sets.
    :param ZooKeeperClient zk_client: where its layouts are told, if they
        are.
    """

    def __init__(self, files, use_nodepool=False, zk_client=None,
                 config=None, **attributes):
        self.zk_client = zk_client
        self.config = config or configparser.ConfigParser()
        self.connections = ConnectionRegistry()
        self.connections.configure(self.config, providers=True)
        scheduler = types.SimpleNamespace(abide=model.Abide())
        self.abide = scheduler.abide
        self.loader = zuul.configloader.ConfigLoader(
            self.connections, types.SimpleNamespace(system_id='system'),
            zk_client, None, None, scheduler=scheduler)
        self.tenant = model.Tenant('tenant')
        self.tenant.use_nodepool = use_nodepool
        self.tenant.allowed_labels = None
        self.tenant.disallowed_labels = None
        vars(self.tenant).update(attributes)
        self.files = {key: textwrap.dedent(text)
                      for key, text in files.items()}
        for name in (CONFIG, NODES):
            tpc = model.TenantProjectConfig(model.Project(name, Source()))
            tpc.trusted = name == CONFIG
            tpc.load_branch = 'main'
            tpc.load_classes = set(zuul.configloader.TenantParser.all_classes)
            tpc.branches = sorted(
                {branch for project, branch, _ in files if project == name})
            self.tenant.addTPC(tpc)
        self.load()

    def load(self):
        parser = self.loader.tenant_parser
        context = zuul.configloader.ParseContext(
            self.connections, None, self.loader.system, None)
        for (project, branch, path), text in self.files.items():
            name = f'{HOST}/{project}'
            source_context = model.SourceContext(
                name, project, 'git', branch, path)
            with context.errorContext(source_context=source_context):
                self.abide.getConfigObjectCache(name, branch).put(
                    path, parser.loadProjectYAML(
                        text, source_context, context), 1)
        self.tenant.layout = parser._parseLayout(
            self.tenant,
            parser._loadTenantParsedConfig(
                self.abide, self.tenant, context),
            context)

    @property
    def layout(self):
        return self.tenant.layout

    @property
    def errors(self):
        return getErrors(self.layout)

    def propose(self, files, ahead=(), trusted=False):
        """
        :param dict files: what the change makes of files; None is none.
        :param ahead: files that changes ahead have changed, as well.
        :param bool trusted: as Zuul first looks at changes of config
            projects.
        :return: (layout, warnings)
        """
        changed = {key: text and textwrap.dedent(text)
                   for key, text in (dict(ahead) | files).items()}
        repo_files = model.RepoFiles()
        for project, branch in {key[:2] for key in changed}:
            repo_files.connections.setdefault('git', {}).setdefault(
                project, {})[branch] = {
                    path: text for (*place, path), text
                    in (self.files | changed).items()
                    if place == [project, branch] and text}
        item = Item(self.tenant, files)
        layout = self.loader.createDynamicLayout(
            item, repo_files, {}, None, include_config_projects=trusted)
        return layout, item.current_build_set.warning_messages


class TenantWithPipelines(Tenant):
    """One whose pipelines may have triggers and reporters."""

    def load(self):
        self.connections.configure(
            self.config, providers=True, triggers=True, reporters=True)
        # Pipelines ask the scheduler for it.
        self.loader.scheduler.sql = None
        super().load()


class Item:

    def __init__(self, tenant, files):
        self.manager = types.SimpleNamespace(tenant=tenant)
        self.event = None
        self.layout_uuid = None
        self.current_build_set = types.SimpleNamespace(warning_messages=[])
        self.changes = [
            types.SimpleNamespace(
                project=tenant.getProject(project)[1], branch=branch,
                files=[path for *place, path in files
                       if place == [project, branch]])
            for project, branch in {key[:2] for key in files}]

    def warning(self, messages):
        self.current_build_set.warning_messages.extend(messages)


def getErrors(layout):
    """:return: what each error says, in one line."""
    return [' '.join(error.short_error.split())
            for error in layout.loading_errors.errors]


def write(tenant, context):
    """What a scheduler does with a new layout."""
    LayoutProvidersStore(
        tenant.zk_client, tenant.connections, 'system').set(
            context, 'tenant', tenant.layout.providers.values())


def change(tenant, path, text):
    tenant.files[path] = textwrap.dedent(text)
    tenant.load()


def loadAgain(tenant):
    """A new layout, and nothing has changed in the files."""
    parser = tenant.loader.tenant_parser
    context = zuul.configloader.ParseContext(
        tenant.connections, None, tenant.loader.system, None)
    tenant.tenant.layout = parser._parseLayout(
        tenant.tenant, parser._loadTenantParsedConfig(
            tenant.abide, tenant.tenant, context), context)
