"""Suggestions: the known name that an unknown name is probably meant to be."""

import difflib
import heapq

# Maximum number of names to list.
MANY = 20
# Maximum number of names to compare with the unknown one.
ALIKE = 100
# Longer names are truncated.
LONG = 250


def quote(name):
    """:return: a name in quotation marks, truncated if too long."""
    return f'"{name[:LONG]}..."' if len(name) > LONG else f'"{name}"'


def suggest(name, known):
    """
    :param name: the unknown name, as a tenant wrote it; possibly not a
        string.
    :param known: a collection of the known names, in any order.
    :return: a sentence with the most similar name, or with the known names.
    """
    name = str(name)
    # The comparison is slow, and a tenant can cause many of them.
    alike = [each for each in known if abs(len(each) - len(name)) < 4
             and (each[:1] == name[:1] or each[-1:] == name[-1:])]
    near = difflib.get_close_matches(name, alike[:ALIKE], 1)
    if near:
        return f'Did you mean "{near[0]}"?'
    if not known:
        return 'There are none.'
    names = [f'"{name}"' for name in heapq.nsmallest(MANY, known)]
    if len(known) > MANY:
        names.append(f'and {len(known) - MANY} more')
    return 'There are: ' + ', '.join(names)
