"""Canonical names: a project and a name, so that they are unique."""

import urllib.parse


def getShortName(canonical_name: object) -> str:
    """:return: the name that people gave, without the project."""
    return urllib.parse.unquote_plus(str(canonical_name).rpartition('/')[2])


def getProjectName(canonical_name: str) -> str:
    """:return: the canonical name of the project."""
    return urllib.parse.unquote_plus(canonical_name.partition('/')[0])
