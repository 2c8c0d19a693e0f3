"""Paths of the provider records that schedulers write for launchers."""

from zuul.zk.layout import LayoutProvidersStore

from zuul_nodes import zkrecords


def getNames(client, tenant_name):
    """
    :param KazooClient client:
    :return: a list of the canonical names of a tenant's providers.
    """
    root = _getRoot(tenant_name)
    return [f'{project}/{name}'
            for project in zkrecords.getChildren(client, root)
            for name in zkrecords.getChildren(client, f'{root}/{project}')]


def getPath(tenant_name, canonical_name):
    """:return: the path of a provider's record."""
    return f'{_getRoot(tenant_name)}/{canonical_name}/config'


def _getRoot(tenant_name):
    # The same path as Zuul uses.
    return f'{LayoutProvidersStore.tenant_root}/{tenant_name}/provider'
