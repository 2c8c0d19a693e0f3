"""What any label may have, whatever its driver.

No driver's schema has these: the launcher puts them into the records of nodes.
They are said of a label, or of all of a provider's nodes, and mappings merge
as ``tags`` do.
"""

from collections.abc import Callable
import re
from typing import Any

import voluptuous as vs
from zuul.provider import BaseProviderLabel

from zuul_nodes.drivers.api.labels import getOwn
from zuul_nodes.drivers.api.tags import DYNAMIC_TAGS, checkDynamicTags

NODE_ATTRIBUTES = 'node-attributes'
# The executor chooses by this one; it is an attribute of labels.
EXECUTOR_ZONE = 'executor-zone'
NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,62}')
# Characters of a value.
LONGEST = 255
MOST = 64
# Zuul's executor writes these to the inventory as they are, and Ansible
# evaluates templates there, outside of jobs' own playbooks, too.  All that
# Jinja delimits begins with a brace; the other changes that.
TEMPLATES = ('{', '#jinja2')


def checkNodeAttributes(attributes: Any) -> dict[str, str] | None:
    """
    :param attributes: as they are written, or None.
    :return: the same.
    :raises vs.Invalid: jobs can't be told that.
    """
    if attributes is None:
        return attributes
    if not isinstance(attributes, dict):
        raise vs.Invalid('expected a mapping of names to texts')
    if len(attributes) > MOST:
        raise vs.Invalid(f'there are {len(attributes)} attributes; {MOST} are '
                         f'allowed')
    for name, value in attributes.items():
        _checkAttribute(name, value)
    return attributes


def _checkAttribute(name: object, value: object) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise vs.Invalid(
            f'{name!r:.80} is not a name: use letters, digits, "_" and "-", '
            'at most 63 of them, and begin with a letter')
    if name == EXECUTOR_ZONE:
        raise vs.Invalid(
            f'"{EXECUTOR_ZONE}" is an attribute of labels here: write it '
            'beside "node-attributes"')
    if not isinstance(value, str):
        raise vs.Invalid(f'the value of "{name}" is not text; put it in '
                         f'quotes')
    if len(value) > LONGEST:
        raise vs.Invalid(f'the value of "{name}" has {len(value)} characters; '
                         f'{LONGEST} are allowed')
    if not value.isprintable():
        raise vs.Invalid(f'the value of "{name}" has characters that cannot '
                         f'be printed')
    if any(each in value for each in TEMPLATES):
        raise vs.Invalid(
            f'the value of "{name}" has "{{" or "#jinja2" in it, with which '
            'templates of Ansible begin')


def getNodeAttributes(label: BaseProviderLabel) -> dict[str, str]:
    """
    :param label: of any driver.
    :return: what jobs are told of its nodes: name -> text, a new dict.
    """
    return dict(getOwn(label).get(NODE_ATTRIBUTES, {}))


# Attribute -> what checks it.
LABEL_OF_ANY_DRIVER: dict[str, Callable[[Any], Any]] = {
    NODE_ATTRIBUTES: checkNodeAttributes, DYNAMIC_TAGS: checkDynamicTags}
