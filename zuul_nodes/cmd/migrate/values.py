"""Convert values: numbers, texts, and texts with fields in braces."""

import re

from zuul_nodes.cmd.migrate.rules import Unfit
from zuul_nodes.cmd.migrate.tree import Mapping, Sequence, getOrigin

FIELD = re.compile(r'\{([^{}]*)\}')
# Fields of "dynamic-tags" of zuul-nodes, without "request.".
TAG_FIELDS = frozenset((
    'tenant_name', 'pipeline_name', 'project_name', 'project',
    'project_canonical_name', 'job_name', 'job_uuid', 'buildset_uuid',
    'zuul_event_id', 'event_id', 'request_id', 'id', 'label', 'provider',
    'node_id'))
# The fields of labels of Kubernetes.
LABEL_FIELDS = frozenset((
    'request_id', 'tenant_name', 'pipeline_name', 'job_name', 'job_uuid',
    'buildset_uuid', 'zuul_event_id'))
# Glance uses these for itself.
RESERVED_PREFIX = 'zuul_'


def limit(value):
    """:return: the limit; 0 for all values that disable a pool."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        if isinstance(value, str) and value.lstrip('-').isdigit():
            return limit(int(value))
        raise Unfit('it is not a number')
    if value == float('inf'):
        return None
    return max(0, int(value))


def number(value):
    """:return: an integer."""
    if isinstance(value, bool) or not str(value).isdigit():
        raise Unfit('it is not a whole number')
    return int(value)


def text(value):
    """:return: a scalar as a string, as Nodepool's YAML has it."""
    if isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else str(value)


def texts(value):
    """:return: a mapping with all values as strings."""
    if not isinstance(value, Mapping):
        raise Unfit('it is not a mapping')
    result = Mapping(origin=value.origin)
    for name, each in value.items():
        if isinstance(each, list | dict):
            raise Unfit(f'the value of "{name}" is not a text')
        if name.startswith(RESERVED_PREFIX):
            raise Unfit(f'"{name}" begins with "{RESERVED_PREFIX}", which is '
                        f'for Zuul alone')
        result.put(name, '' if each is None else text(each),
                   getOrigin(value, name))
    return result or None


def listOf(value):
    """:return: a list, also of a single value."""
    return value if isinstance(value, list) else Sequence([value])


def onlyIf(wanted, result):
    """:return: a function that returns the result for one value, else None."""
    return lambda value: result if value == wanted else None


def renameFields(known, separator='_'):
    """
    :param known: names of fields that there are.
    :return: a function that converts a mapping of texts with fields.
    """
    def rename(value):
        result = texts(value)
        for key, each in (result or {}).items():
            result[key] = FIELD.sub(lambda match: _rename(match, known), each)
        return result

    def _rename(match, known):
        name = match[1]
        bare = name.removeprefix('request.')
        for each in (name, bare, f'request{separator}{bare}'):
            if each in known:
                return f'{{{each}}}'
        raise Unfit(f'there is no field "{{{name}}}"; there are '
                    f'{", ".join(sorted(known))}')
    return rename
