"""Make names and tags valid for Azure.

https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources
"""

import hashlib
import re

import voluptuous as vs

from zuul_nodes.drivers import PermanentError

# Limit for images, disks, interfaces and addresses.
LONGEST_NAME = 80
NAME = re.compile(r'[a-z0-9]([a-z0-9_.-]*[a-z0-9_])?')
# Maximum length of host names that any operating system supports.
LONGEST_HOST = 15
LONGEST_KEY = 512
LONGEST_VALUE = 256
MOST_TAGS = 50
FORBIDDEN_IN_KEYS = re.compile(r'[<>%&\\?/\x00-\x1f\x7f]')
# Prefixes that Azure reserves.
RESERVED = ('microsoft', 'azure', 'windows')
# Characters of a digest; 80 bits.
DIGEST = 20

GROUP = re.compile(r'[\w.()-]{0,89}[\w()-]')
PART = re.compile(r'[A-Za-z0-9]([\w.-]{0,78}\w)?')
ID = re.compile(r'(/(?!\.\.?(/|$))[\w.()-]+){2,}')
REGION = re.compile('[A-Za-z0-9]{1,64}')


def fitName(name, longest=LONGEST_NAME):
    """
    :param str name: of a resource of ours.
    :param int longest: maximum number of characters.
    :return: the name, if it is valid; otherwise a valid name that is always
        the same for this name and differs from that of other names.  It is in
        lower case, because Azure ignores the case.
    """
    if len(name) <= longest and NAME.fullmatch(name):
        return name
    kept = re.sub(r'[^a-z0-9_-]+', '-', name.lower()).strip('-_')
    return f'{kept[:longest - DIGEST - 1] or "zuul"}-{_digest(name)}'


def getHost(name):
    """:return: the host name of a virtual machine."""
    return name[:LONGEST_HOST]


def fitTags(tags):
    """
    :param dict tags: of a node or an image, strings.
    :return: the tags as Azure accepts them: invalid keys and values are cut
        and have a digest, so that they remain different.
    :raises PermanentError: there are too many.
    """
    if len(tags) > MOST_TAGS:
        raise PermanentError(
            f'There are {len(tags)} tags, including those of Zuul; Azure '
            f'accepts {MOST_TAGS}')
    fitted, seen = {}, set()
    # Valid keys keep their names.  Of keys that differ only in case, the one
    # in lower case keeps its name, so Zuul's own keys are never changed.
    for key in sorted(tags, key=lambda each: (
            _fitKey(each) != each, each != each.lower(), each)):
        name = _fitKey(key)
        if name.lower() in seen:
            name = _cut(key, name, LONGEST_KEY, always=True)
        seen.add(name.lower())
        value = str(tags[key])
        fitted[name] = _cut(value, value, LONGEST_VALUE)
    return fitted


def _fitKey(key):
    name = FORBIDDEN_IN_KEYS.sub('_', key).strip()
    if not name or name.lower().startswith(RESERVED):
        name = f'_{name}'
    return _cut(key, name, LONGEST_KEY, always=name != key)


def _cut(original, text, longest, always=False):
    """
    :param str text: the visible part of the original.
    :param bool always: whether to add a digest even if the text is short.
    """
    if len(text) <= longest and not always:
        return text
    return f'{text[:longest - DIGEST - 1]}-{_digest(original)}'


def _digest(text):
    return hashlib.sha256(
        text.encode(errors='surrogatepass')).hexdigest()[:DIGEST]


def _check(pattern, what):
    def check(text):
        if not isinstance(text, str) or not pattern.fullmatch(text):
            raise vs.Invalid(f'expected {what}')
        return text
    return check


# Tenants write these values, which become parts of paths.
checkRegion = _check(REGION, 'the name of a region, such as "eastus"')
checkGroup = _check(
    GROUP, 'the name of a resource group: up to 90 letters, digits and '
           '"_-.()", and no "." at the end')
checkID = _check(
    ID, 'the complete id of a resource, such as '
        '"/subscriptions/.../resourceGroups/...", without "." and ".."')
checkPart = _check(
    PART, 'the name of a resource: up to 80 letters, digits and "_-."')
