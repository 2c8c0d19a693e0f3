"""Tags of nodes, with fields that the launcher fills in.

Tenants write the templates, and users the names of jobs.  So there is a closed
set of fields, and no :meth:`str.format`, which would let a template access
attributes of objects or produce text of any length.
"""

from collections.abc import Container, Mapping
import re
from typing import Any

import voluptuous as vs
from zuul.model import NodesetRequest
from zuul.provider import BaseProvider, BaseProviderLabel

from zuul_nodes.drivers.api.labels import OWN, getOwn

DYNAMIC_TAGS = 'dynamic-tags'
# Nodepool's templates have the prefix "request.".
PLACEHOLDER = re.compile(r'\{(?:request\.)?(\w+)\}')
# Abbreviations, and the names in Nodepool.
ALIASES = {'id': 'request_id', 'event_id': 'zuul_event_id',
           'project': 'project_name'}
OF_REQUESTS = frozenset(
    NodesetRequest().getSafeAttributes().toDict().keys() - {'labels'})
# The plugin adds these to the record of a request.
OF_PROJECTS = frozenset({'project_name', 'project_canonical_name'})
OF_NODES = frozenset({'label', 'node_id', 'provider'})
# A key that every cloud accepts.
KEY = re.compile(r'[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?')
# Prefix of the tags by which Zuul identifies its nodes.  Azure ignores the
# case of keys.
RESERVED = 'zuul_'
LONGEST_TEMPLATE = 255
# Maximum characters of a tag: names of jobs have no limit, records do.
LONGEST = 512
MOST = 32


def findUnknown(template: str, known: Container[str]) -> str | None:
    """
    :param known: names of the fields that exist.
    :return: the first unknown name in a template, or None.
    """
    return next((name for name in PLACEHOLDER.findall(template)
                 if name not in known), None)


def fillIn(template: str, values: Mapping[str, object]) -> str:
    """
    :param values: field -> value; None is replaced by an empty text.
    :return: the template with the values in place of the fields.
    """
    return PLACEHOLDER.sub(
        lambda match: str(values[match[1]] or '') if match[1] in values
        else match[0], template)


def checkDynamicTags(tags: Any) -> dict[str, str] | None:
    """Validate the attribute ``dynamic-tags``.

    :param tags: key -> template as configured, or None.
    :return: the same.
    :raises vs.Invalid: a template has an unknown field, or a tag is not valid
        in every cloud.
    """
    if tags is None:
        return tags
    if not isinstance(tags, dict):
        raise vs.Invalid('expected a mapping of keys to texts')
    if len(tags) > MOST:
        raise vs.Invalid(f'there are {len(tags)} tags; {MOST} are allowed')
    for key, template in tags.items():
        _checkTag(key, template)
    return tags


def getNodeTags(provider: BaseProvider, system_id: str,
                label: BaseProviderLabel, node_id: str,
                request: NodesetRequest | None = None) -> dict[str, str]:
    """
    :param provider: that creates a node, of any driver.
    :param label: of the node.
    :param request: for which the node is created, or None.
    :return: all tags of the node: those of the driver, and dynamic ones, which
        override them.  Without a request, dynamic tags with fields of a
        request are omitted.
    """
    templates = getOwn(label).get(DYNAMIC_TAGS, {})
    values = {'label': label.name, 'node_id': node_id,
              'provider': provider.name}
    if request:
        attributes = request.getSafeAttributes().toDict()
        values |= {name: attributes[name] for name in OF_REQUESTS}
        own = getattr(request, OWN, {})
        values |= {name: own.get(name) for name in OF_PROJECTS}
        values |= {alias: values[name] for alias, name in ALIASES.items()}
    return {
        **provider.getNodeTags(system_id, label, node_id, request),
        **{key: fillIn(template, values)[:LONGEST]
           for key, template in templates.items()
           if not findUnknown(template, values)}}


def _checkTag(key: object, template: object) -> None:
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise vs.Invalid(
            f'{key!r:.80} is not a valid key in every cloud: use letters, '
            'digits, "_", "." and "-", at most 63 of them')
    if key.lower().startswith(RESERVED):
        raise vs.Invalid(f'the key "{key}" is reserved for Zuul; use one '
                         f'that does not begin with "{RESERVED}"')
    if not isinstance(template, str):
        raise vs.Invalid(f'the value of "{key}" is not a string; put it in '
                         f'quotes')
    if len(template) > LONGEST_TEMPLATE or not template.isprintable():
        raise vs.Invalid(f'the value of "{key}" is not printable text of at '
                         f'most {LONGEST_TEMPLATE} characters')
    known = OF_REQUESTS | OF_PROJECTS | OF_NODES | ALIASES.keys()
    unknown = findUnknown(template, known)
    if unknown or re.search('[{}]', PLACEHOLDER.sub('', template)):
        what = (f'there is no field "{unknown}"' if unknown
                else 'it has a brace outside of a field')
        raise vs.Invalid(
            f'the value of "{key}" cannot be filled in: {what}; the fields '
            f'are {", ".join(sorted(known))}')
