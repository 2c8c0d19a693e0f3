"""Tags of nodes, with what the launcher fills in.

Tenants write templates, and users the names of jobs; so there is a closed set
of fields, and no :meth:`str.format`, by which a template could reach into
objects or ask for text of any length.
"""

from collections.abc import Container, Mapping
import re
from typing import Any

import voluptuous as vs
from zuul.model import NodesetRequest
from zuul.provider import BaseProvider, BaseProviderLabel

from zuul_nodes.drivers.api.labels import OWN, getOwn

DYNAMIC_TAGS = 'dynamic-tags'
# In a template; Nodepool has "request." there.
PLACEHOLDER = re.compile(r'\{(?:request\.)?(\w+)\}')
# As they can be written for short, or as Nodepool has them.
ALIASES = {'id': 'request_id', 'event_id': 'zuul_event_id',
           'project': 'project_name'}
OF_REQUESTS = frozenset(
    NodesetRequest().getSafeAttributes().toDict().keys() - {'labels'})
# The plugin adds these to the record of a request.
OF_PROJECTS = frozenset({'project_name', 'project_canonical_name'})
OF_NODES = frozenset({'label', 'node_id', 'provider'})
# A key that any cloud takes.
KEY = re.compile(r'[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?')
# What Zuul knows its own nodes by; Azure does not tell capital letters from
# small ones.
RESERVED = 'zuul_'
LONGEST_TEMPLATE = 255
# Characters of a tag: names of jobs have no limit, records do.
LONGEST = 512
MOST = 32


def findUnknown(template: str, known: Container[str]) -> str | None:
    """
    :param known: the names of fields that there are.
    :return: the first name in a template that is none of them, or None.
    """
    return next((name for name in PLACEHOLDER.findall(template)
                 if name not in known), None)


def fillIn(template: str, values: Mapping[str, object]) -> str:
    """
    :param values: field -> value; whatever is None or empty is nothing.
    :return: the template with the values in place of the fields.
    """
    return PLACEHOLDER.sub(
        lambda match: str(values[match[1]] or '') if match[1] in values
        else match[0], template)


def checkDynamicTags(tags: Any) -> dict[str, str] | None:
    """
    :param tags: key -> template as they are written, or None.
    :return: the same.
    :raises vs.Invalid: they can't be filled in, or are none for any cloud.
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
    :param provider: that makes a node, of any driver.
    :param label: of the node.
    :param request: that the node is made for, or None.
    :return: all of its tags: those of the driver and dynamic ones, which
        count more.  Without a request, a dynamic tag is left out if it says
        something of one.
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
            f'{key!r:.80} is not a key that any cloud takes: use letters, '
            'digits, "_", "." and "-", at most 63 of them')
    if key.lower().startswith(RESERVED):
        raise vs.Invalid(f'"{key}" is a key of Zuul itself; take one that '
                         f'does not begin with "{RESERVED}"')
    if not isinstance(template, str):
        raise vs.Invalid(f'the value of "{key}" is not text; put it in '
                         f'quotes')
    if len(template) > LONGEST_TEMPLATE or not template.isprintable():
        raise vs.Invalid(f'the value of "{key}" is not printable text of at '
                         f'most {LONGEST_TEMPLATE} characters')
    known = OF_REQUESTS | OF_PROJECTS | OF_NODES | ALIASES.keys()
    unknown = findUnknown(template, known)
    if unknown or re.search('[{}]', PLACEHOLDER.sub('', template)):
        what = f'"{unknown}" is not' if unknown else 'there is something else'
        raise vs.Invalid(
            f'the value of "{key}" cannot be filled in: {what} among what can '
            f'be in braces: {", ".join(sorted(known))}')
