"""Words that hide which component acts, and spellings to avoid."""

import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).parents[3]
ROOT = REPOSITORY / 'zuul_nodes'
# Pattern -> what to write instead.  The patterns are regular expressions, and
# match across line breaks.
WORDS = {
    r'\b(nobody|somebody|anybody|everybody|whoever)\b': 'the component',
    r'\bcan\s+not\b': 'cannot',
    r'\bfor\s+ever\b': 'forever',
}
# The same for pages: words for which the project has others, and words that
# promise too much.
PAGE_WORDS = WORDS | {
    r'\bshortages?\b': 'capacity',
    r'\bobstacles?\b': 'blocker, or what blocks',
    r'\bsurplus\b': 'reclaim',
    r'\bsuperseded\b': 'drift, or an old definition',
    r'\bretirement\b': 'retention',
    r'\bpatience\b': 'back-off',
    r'\butili[sz]e': 'use',
    r'\bin\s+order\s+to\b': 'to',
    r'\b(simply|easily|obviously|of\s+course)\b': 'nothing',
}
# Rooms whose prose is rewritten: folders, and "." for the modules directly in
# the package.  A room is added when it has none of the words.
ROOMS = ('.', 'cmd', 'configloader', 'drivers', 'launcher', 'plugin',
         'quickstart', 'reference', 'testing')
# Messages of services, which the table of an OpenStack driver quotes.
QUOTED = re.compile('can not find requested image', re.IGNORECASE)
SUFFIXES = ('.py', '.rst', '.toml', '.yaml')


def getFiles(room):
    pattern = '*' if room == '.' else '**/*'
    return [path for path in sorted((ROOT / room).glob(pattern))
            if path.suffix in SUFFIXES]


def getPages():
    return [*REPOSITORY.glob('*.rst'), *sorted(
        path for folder in ('doc/source', 'roles')
        for path in (REPOSITORY / folder).rglob('*.rst'))]


def findWords(text, words=WORDS):
    """Yield a description of each word that should not be in a text."""
    # Comments of several lines are one text.
    joined = QUOTED.sub('', re.sub(r'\n[ \t]*#? ?', '\n', text))
    for pattern, instead in words.items():
        for match in re.finditer(pattern, joined, re.IGNORECASE):
            line = joined.count('\n', 0, match.start()) + 1
            yield f'line {line}: "{match[0]}", write "{instead}"'


@pytest.mark.parametrize('room', ROOMS)
def test_prose_names_what_acts(room):
    files = getFiles(room)
    assert files
    found = [f'{path.relative_to(ROOT)}: {problem}' for path in files
             for problem in findWords(path.read_text())]
    assert found == []


def test_prose_of_the_documentation_names_what_acts():
    found = [f'{path.relative_to(REPOSITORY)}: {problem}'
             for path in getPages()
             for problem in findWords(path.read_text(), PAGE_WORDS)]
    assert found == []


@pytest.mark.parametrize('page', [
    path for path in getPages() if path.name != 'README.rst'], ids=str)
def test_pages_are_short(page):
    """A table of tests is as long as there are tests."""
    assert len(page.read_text().splitlines()) <= 250


@pytest.mark.parametrize('text, expected', [
    ('# Nobody waits.\n', ['line 1: "Nobody", write "the component"']),
    ('x = 1\n# This can\n# not be.\n',
     ['line 2: "can\nnot", write "cannot"']),
    ('# The launcher cannot wait.\n', []),
])
def test_words_are_found(text, expected):
    assert list(findWords(text)) == expected


@pytest.mark.parametrize('text, found', [
    ('Simply wait for the shortage to end.', ['shortage', 'Simply']),
    ('Compare it, in\norder to be sure.', ['in\norder to']),
])
def test_words_of_pages_are_found(text, found):
    assert [problem.split('"')[1] for problem in findWords(
        text, PAGE_WORDS)] == found
