"""Which of the known names was probably meant by one that is not known."""

import difflib
import heapq

# So many names are listed at most.
MANY = 20
# So many are compared with one that is not there.
ALIKE = 100
# Longer names are cut.
LONG = 250


def quote(name):
    """:return: a name in quotation marks, cut if it is too long to be one."""
    return f'"{name[:LONG]}..."' if len(name) > LONG else f'"{name}"'


def suggest(name, known):
    """
    :param name: that is not known; what a tenant wrote, so it may be no
        string.
    :param known: a collection of the names that are, in any order.
    :return: a sentence with the one that was probably meant, or with what
        names there are.
    """
    name = str(name)
    # The comparison is slow, and a tenant may cause many of them.
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
