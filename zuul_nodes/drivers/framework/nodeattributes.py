"""Attributes that any label may have, whatever its driver.

No driver's schema has these attributes; the launcher reads them.  Tenants set
them for a label, or for all nodes of a provider, and mappings merge as
``tags`` do.
"""

from collections.abc import Callable
import re
from typing import Any

import voluptuous as vs
from zuul.provider import BaseProviderLabel

from zuul_nodes import readytimes
from zuul_nodes.drivers.api.labels import REQUEST_TIMEOUT, getOwn
from zuul_nodes.drivers.api.tags import DYNAMIC_TAGS, checkDynamicTags
from zuul_nodes.drivers.framework.numbers import beStrictOf

NODE_ATTRIBUTES = 'node-attributes'
# A label has this attribute itself; Zuul selects executors by it.
EXECUTOR_ZONE = 'executor-zone'
NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,62}')
# Maximum characters of a value.
LONGEST = 255
MOST = 64
# Zuul's executor writes the values to the inventory unchanged.  Ansible
# evaluates templates there, even outside of the playbooks of jobs.  All
# delimiters of Jinja begin with a brace; the other text changes delimiters.
TEMPLATES = ('{', '#jinja2')


def checkNodeAttributes(attributes: Any) -> dict[str, str] | None:
    """Validate the attribute ``node-attributes``.

    :param attributes: as configured, or None.
    :return: the same.
    :raises vs.Invalid: a name or a value is invalid.
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
            f'{name!r:.80} is not a valid name: use letters, digits, "_" and '
            '"-", at most 63 of them, and begin with a letter or "_"')
    if name == EXECUTOR_ZONE:
        raise vs.Invalid(
            f'"{EXECUTOR_ZONE}" is an attribute of labels: write it next to '
            '"node-attributes"')
    if not isinstance(value, str):
        raise vs.Invalid(f'the value of "{name}" is not a string; put it in '
                         f'quotes')
    if len(value) > LONGEST:
        raise vs.Invalid(f'the value of "{name}" has {len(value)} characters; '
                         f'{LONGEST} are allowed')
    if not value.isprintable():
        raise vs.Invalid(f'the value of "{name}" contains unprintable '
                         f'characters')
    if any(each in value for each in TEMPLATES):
        raise vs.Invalid(
            f'the value of "{name}" contains "{{" or "#jinja2", with which '
            'templates of Ansible begin')


def getNodeAttributes(label: BaseProviderLabel) -> dict[str, str]:
    """
    :param label: of any driver.
    :return: the attributes of its nodes for jobs: name -> text, a new dict.
    """
    return dict(getOwn(label).get(NODE_ATTRIBUTES, {}))


# Attribute -> its validator.
LABEL_OF_ANY_DRIVER: dict[str, Callable[[Any], Any]] = {
    NODE_ATTRIBUTES: checkNodeAttributes, DYNAMIC_TAGS: checkDynamicTags,
    REQUEST_TIMEOUT: beStrictOf(REQUEST_TIMEOUT, vs.Any(None, int)),
    readytimes.MIN_READY_TIMES: readytimes.check}
