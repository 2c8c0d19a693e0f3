"""Records of launchers in Zuul's component registry."""

import json

from zuul_nodes import withdrawals, zkrecords

# Of the component registry of Zuul (``zuul.zk.components``).
ROOT = '/zuul/components/launcher'


def readLaunchers(client):
    """:return: yields the record of each registered launcher, a dict."""
    for name in zkrecords.getChildren(client, ROOT):
        data = zkrecords.read(client, f'{ROOT}/{name}')
        # It may have just ended.
        if data is not None:
            yield json.loads(data)


def getWithdrawals(component):
    """
    :param dict component: the record of a launcher.
    :return: a list of dicts, for each endpoint that the launcher has withdrawn
        from.
    """
    return [{'endpoint': name, **withdrawal._asdict()} for name, withdrawal
            in sorted(withdrawals.read(component).items())]
