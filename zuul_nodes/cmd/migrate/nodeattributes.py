"""Convert the node attributes of pools."""

import re

from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin

KEY = 'node-attributes'
ZONE = 'executor-zone'
NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,62}')
LONGEST = 255


def convert(source, pool, subject, report):
    """
    :param Mapping source: the pool of Nodepool.
    :param Pool pool: receives the attributes.
    """
    attributes = source.get(KEY)
    origin = getOrigin(source, KEY)
    if not attributes:
        return
    if not isinstance(attributes, Mapping):
        report.add(Kind.DECIDE, f'"{KEY}" is not a mapping', origin, subject)
        return
    kept = Mapping()
    for name, value in attributes.items():
        where = getOrigin(attributes, name)
        text = value if isinstance(value, str) else str(value)
        if name == ZONE:
            pool.label_defaults.put(ZONE, text, where)
        elif (not NAME.fullmatch(name) or len(text) > LONGEST
                or not text.isprintable() or '{' in text
                or '#jinja2' in text):
            report.add(
                Kind.LOST, f'"{KEY}": "{name}" has a name or a value that '
                f'jobs cannot have as a variable', where, subject)
        else:
            kept.put(name, text, where)
    if kept:
        pool.attributes.put(KEY, kept, origin)
        report.add(
            Kind.CHANGED, f'"{KEY}" are "nodepool.node_properties" to jobs',
            origin, subject)
