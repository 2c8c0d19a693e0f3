"""MIGRATION.md: what was done, and what people have to do."""

import collections
import enum
import textwrap

from zuul_nodes.cmd.migrate.tree import NOWHERE

WIDTH = 79
# Longer lists of subjects are cut in MIGRATION.md; lines never are.
MOST_SUBJECTS = 6


class Kind(enum.Enum):
    """The parts of the report, with their introductions."""
    DECIDE = ('Decide', 'A person has to decide or complete these.')
    CHANGED = ('Changed meaning',
               'These work, but not exactly as in Nodepool.')
    LOST = ('Lost', 'Nothing takes the place of these.')
    DONE = ('Done', 'These were converted.')


class Report:
    """Collects remarks; the same remark on several subjects becomes one."""

    def __init__(self):
        # kind -> text -> (subjects, origins), both without duplicates.
        self._remarks = {kind: {} for kind in Kind}

    def add(self, kind, text, origin=NOWHERE, subject=None):
        """
        :param Kind kind:
        :param str text: a sentence.
        :param Origin origin: what it is about.
        :param str subject: such as ``label debian``.
        """
        subjects, origins = self._remarks[kind].setdefault(text, ({}, {}))
        if subject:
            subjects[subject] = None
        if origin.line:
            origins[origin] = None

    def get(self, kind):
        """:return: yields (text, subjects, origins) in order."""
        for text, (subjects, origins) in self._remarks[kind].items():
            yield text, list(subjects), list(origins)

    def count(self, kind):
        return len(self._remarks[kind])

    def carriedComments(self):
        """:return: the comments that the report itself shows."""
        return {comment for remarks in self._remarks.values()
                for _, origins in remarks.values()
                for origin in origins for comment in origin.comments}


def write(report, sources, secrets, files, left):
    """
    :param Report report:
    :param sources: names of the files that were read.
    :param Secrets secrets:
    :param dict files: path -> purpose of the files that were written.
    :param left: the :class:`Comment` lines that did not travel.
    :return: the text of MIGRATION.md.
    """
    parts = ['# From Nodepool to zuul-nodes', '',
             *_wrap('`zuul-nodes migrate` has made these files from '
                    + ', '.join(f'`{name}`' for name in sources)
                    + '. The page "Moving from Nodepool" of the '
                    'documentation leads through the move.'), '',
             '| File | Purpose |', '|---|---|']
    parts += [f'| `{path}` | {purpose} |' for path, purpose in files.items()]
    for kind in Kind:
        title, introduction = kind.value
        body = _writeSecrets(secrets) if kind is Kind.DECIDE else []
        shown = _getComments(report, kind)
        for text, subjects, origins in report.get(kind):
            body += _writeRemark(text, subjects, origins, shown)
        parts += ['', f'## {title}', '',
                  *([introduction, '', *body] if body else ['Nothing.'])]
    parts += _writeLeft(left)
    return '\n'.join(parts) + '\n'


def _writeRemark(text, subjects, origins, shown):
    if len(subjects) > MOST_SUBJECTS:
        subjects = [*subjects[:MOST_SUBJECTS],
                    f'and {len(subjects) - MOST_SUBJECTS} more']
    about = f' ({", ".join(subjects)})' if subjects else ''
    where = formatOrigins(origins)
    lines = _wrap(f'- {text}{about}{f" — {where}" if where else ""}', '  ')
    for origin in origins:
        for comment in origin.comments:
            if comment in shown:
                shown.remove(comment)
                lines.append(f'      {comment.text}')
    return lines


def _getComments(report, kind):
    """:return: the set of the comments that this part has to show."""
    if kind is not Kind.LOST:
        return set()
    return {comment for _, _, origins in report.get(kind)
            for origin in origins for comment in origin.comments}


def _writeSecrets(secrets):
    if not secrets.found:
        return []
    lines = _wrap('- Replace these placeholders by the secrets that are '
                  'there in Nodepool. Encrypt them with `zuul-client '
                  'encrypt` where they are in git.', '  ')
    lines += [f'  - `{placeholder}` — {origin}'
              for placeholder, origin in secrets.found.items()]
    return lines


def _writeLeft(left):
    if not left:
        return []
    lines = ['', '## Comments that are left behind', '']
    files = collections.defaultdict(list)
    for comment in left:
        files[comment.file].append(comment)
    for comments in files.values():
        last = None
        for comment in sorted(comments, key=lambda each: each.line):
            if last is None or comment.line != last + 1:
                lines.append(f'- {comment.file}:{comment.line}')
                lines.append('')
            lines.append(f'      {comment.text}')
            last = comment.line
    return lines


def formatOrigins(origins):
    """:return: such as ``a.yaml:3, 7, b.yaml:1``."""
    files = collections.defaultdict(set)
    for origin in origins:
        files[origin.file].add(origin.line)
    return ', '.join(f'{name}:{", ".join(map(str, sorted(lines)))}'
                     for name, lines in files.items())


def _wrap(text, indent=''):
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)
