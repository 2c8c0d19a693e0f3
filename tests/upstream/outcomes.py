"""What is expected to come of Zuul's tests, and what came of them."""

import pathlib

import yaml

EXPECTED = pathlib.Path(__file__).parent / 'expected.yaml'
ATTRIBUTES = {'reason', 'needs-zookeeper', 'uses', 'covered-by'}


def loadExpected(zookeeper_version):
    """Read the list of the tests that do not pass.

    :param tuple zookeeper_version: as (3, 8).
    :return: test -> 'failed', 'skipped' if it needs a later ZooKeeper or
        uses private parts of Zuul's class, or 'passed' if it has what it
        needs.
    """
    expected = {}
    for name, entry in yaml.safe_load(EXPECTED.read_text()).items():
        if entry.keys() - ATTRIBUTES or not (
                entry.get('reason')
                or (entry.get('uses') and entry.get('covered-by'))):
            raise ValueError(f'{EXPECTED}: {name}: not an entry of this list')
        # What comes of one that is about private parts says nothing.
        expected[name] = 'skipped' if 'uses' in entry else 'failed'
        if 'needs-zookeeper' in entry:
            needed = tuple(map(int, entry['needs-zookeeper'].split('.')))
            expected[name] = ('skipped' if zookeeper_version < needed
                              else 'passed')
    return expected


def compare(outcomes, expected, complete):
    """
    :param dict outcomes: test -> 'passed', 'failed' or 'skipped'.
    :param dict expected: test -> what :func:`loadExpected` gives.
    :param bool complete: whether these are all the tests.
    :return: a list of sentences, one for each difference.
    """
    differences = [
        f'{name} {outcome}, expected: {expected.get(name, "passed")}'
        for name, outcome in sorted(outcomes.items())
        if outcome != expected.get(name, 'passed')]
    if complete:
        differences += [f'{name} is in the list, but there is no such test'
                        for name in sorted(expected.keys() - outcomes.keys())]
    return differences
