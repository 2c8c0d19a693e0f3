"""The layouts of tenants, loaded beside a running Zuul.

Like zuul-web, this module loads them from ZooKeeper, where the schedulers
store them, and does not use mergers.  It loads only images, flavors, labels,
sections and providers, and skips projects that cannot define any.
"""

from collections import defaultdict
import contextlib
from urllib.parse import quote_plus

from kazoo.exceptions import KazooException, NoNodeError
from zuul.configloader import ConfigLoader, TenantParser
from zuul.connection import ReadOnlyBranchCacheError
from zuul.lib.ansible import AnsibleManager
from zuul.model import Abide, TenantTPCRegistry
from zuul.zk.config_cache import SystemConfigCache, UnparsedConfigCache
from zuul.zk.layout import LayoutStateStore
from zuul.zk.locks import TENANT_LOCK_ROOT, SessionAwareReadLock, locked
from zuul.zk.system import SYSTEM_ROOT, ZuulSystem

from zuul_nodes.cmd.common.readonly import (
    TIMEOUT,
    ReadOnlyZooKeeper,
    WriteRefused,
)
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin.branchcaches import readBranches
from zuul_nodes.suggestions import suggest

SCHEDULER = 'Check that the scheduler is running'


class NoKeys:
    """Replaces the key storage, which would create missing keys.

    None of the loaded objects needs a key.
    """

    def getProjectSecretsKeys(self, connection_name, project_name):
        return None, None

    def getProjectSSHKeys(self, connection_name, project_name):
        return None, None

    def getTenantSSHKeys(self, tenant_name):
        return None, None


class Tenants:
    """Loads the layouts of tenants from ZooKeeper.

    :param ConfigParser config: zuul.conf
    :param Connections connections: of zuul.conf.
    :param Waiting waiting: informed of each step.
    :ivar names: the names of all tenants; set by :meth:`open`.
    :ivar loaded: the names of the tenants that a scheduler has loaded.
    """

    def __init__(self, config, connections, waiting):
        self.zk_client = ReadOnlyZooKeeper.fromConfig(config)
        self.connections = connections
        self.waiting = waiting
        self.names = []
        self.loaded = []

    def open(self):
        """Connect to ZooKeeper, and read the list of tenants.

        :raises UserError: ZooKeeper cannot be reached, or no scheduler has
            written to it.
        """
        self.waiting.begin(
            'Connecting to ZooKeeper', 'Check that it is running')
        # A shorter time-out, because its own error is more specific.
        self.zk_client.connect(min(TIMEOUT, self.waiting.timeout * .9))
        self.waiting.begin('Reading the configuration of Zuul', SCHEDULER)
        with _convertErrors('the configuration of Zuul'):
            self._open()

    def _open(self):
        config_cache = SystemConfigCache(self.zk_client, _ignore)
        kazoo_client = self.zk_client.client
        if not (kazoo_client.exists(config_cache.conf_path)
                and kazoo_client.exists(SYSTEM_ROOT)):
            raise UserError(
                f'ZooKeeper at {self.zk_client.hosts} has no Zuul '
                f'configuration: no scheduler has run there yet. Start the '
                f'scheduler, or name another zuul.conf with -c')
        self.unparsed_abide, zuul_globals = config_cache.get()
        self.names = sorted(self.unparsed_abide.tenants)
        self.states = LayoutStateStore(self.zk_client, _ignore)
        self.loaded = [name for name in self.names if name in self.states]
        self.ansible_manager = AnsibleManager(
            default_version=zuul_globals.default_ansible_version)
        for connection in self.connections.connections.values():
            readBranches(connection, self.zk_client)
        self.abide = Abide()
        self.loader = ConfigLoader(
            self.connections, ZuulSystem(self.zk_client), self.zk_client,
            zuul_globals, UnparsedConfigCache(self.zk_client),
            keystorage=NoKeys())
        self.loader.loadAuthzRules(self.abide, self.unparsed_abide)
        self.loader.loadSemaphores(self.abide, self.unparsed_abide)

    def close(self):
        """Release all locks; whatever waits for one gets an error."""
        self.zk_client.disconnect()

    def loadTenant(self, name):
        """
        :param str name: of a tenant.
        :return: the tenant, a :class:`zuul.model.Tenant`, with its layout.
        :raises UserError: there is no such tenant, or it cannot be read at
            this time.
        """
        if name not in self.names:
            raise UserError(f'there is no tenant "{name}". '
                            f'{suggest(name, self.names)}')
        with _convertErrors(f'the tenant "{name}"'):
            return self._loadTenant(name)

    def _loadTenant(self, name):
        self.waiting.begin(
            f'Waiting for the lock of the tenant {name}',
            'A scheduler is about to reconfigure it. Try again later, or '
            'choose another tenant with --tenant')
        with locked(SessionAwareReadLock(
                self.zk_client.client,
                f'{TENANT_LOCK_ROOT}/{quote_plus(name)}')):
            self.waiting.begin(
                f'Reading the configuration of the tenant {name}',
                'Check that its git servers answer')
            state = self.states.get(name)
            if state is None:
                raise UserError(
                    f'no scheduler has loaded the tenant "{name}" yet. '
                    f'{SCHEDULER}, and read its log')
            self.loader.loadTPCs(self.abide, self.unparsed_abide, [name])
            self._leaveOutProjects(name)
            return self.loader.loadTenant(
                self.abide, name, self.ansible_manager, self.unparsed_abide,
                min_ltimes=(self.states.getMinLtimes(state)
                            or defaultdict(lambda: defaultdict(lambda: -1))),
                layout_uuid=state.uuid,
                branch_cache_min_ltimes=state.branch_cache_min_ltimes)

    def _leaveOutProjects(self, name):
        """Skip the projects that cannot define providers or their parts."""
        registry = self.abide.getTPCRegistry(name)
        kept = TenantTPCRegistry()
        for tpcs, keep in (
                (registry.getConfigTPCs(), kept.addConfigTPC),
                (registry.getUntrustedTPCs(), kept.addUntrustedTPC)):
            for tpc in tpcs:
                tpc.load_classes &= frozenset(TenantParser.provider_classes)
                # These name projects whose jobs take precedence; some of
                # them are skipped.
                tpc.shadow_projects = []
                if tpc.load_classes:
                    keep(tpc)
        self.abide.setTPCRegistry(name, kept)


@contextlib.contextmanager
def _convertErrors(what):
    """Convert errors of ZooKeeper to :class:`UserError`."""
    try:
        yield
    except (ReadOnlyBranchCacheError, NoNodeError) as error:
        # The parent nodes exist, so a scheduler is writing below them.
        raise UserError(f'a scheduler is changing {what} right now. Try again '
                        f'later') from error
    except (KazooException, WriteRefused) as error:
        raise UserError(
            f'{what} cannot be read from ZooKeeper: '
            f'{type(error).__name__}: {error}. Try again') from error


def _ignore():
    """Ignore changes that happen during the read."""
