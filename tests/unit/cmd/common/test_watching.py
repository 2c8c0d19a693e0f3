"""Lists that are repeated with ``--watch``."""

import types

import pytest

from zuul_nodes.cmd.common.watching import watch
from zuul_nodes.exceptions import UserError


class Lists:
    """A subcommand.

    :param results: of its runs: statuses, or errors to raise.
    """

    def __init__(self, *results):
        self.results = list(results)
        self.slept = []

    def run(self, args):
        print('a list')
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def sleep(self, seconds):
        self.slept.append(seconds)
        if not self.results:
            # As Ctrl-C does.
            raise KeyboardInterrupt

    def watch(self, **args):
        args = types.SimpleNamespace(run=self.run, watch=5, **args)
        return watch(args, pytest.fail, self.sleep)


def test_list_is_repeated_until_it_is_interrupted(capsys):
    lists = Lists(0, 0, 0)
    assert lists.watch(action='list') == 0
    assert lists.slept == [5, 5, 5]
    assert capsys.readouterr().out == 3 * 'a list\n'


def test_failure_of_the_command_ends_it():
    lists = Lists(0, 1)
    assert lists.watch() == 1
    assert lists.slept == [5]


def test_zookeeper_may_be_away_later_but_not_at_first(capsys):
    assert Lists(0, UserError('it is away'), 0).watch(action=None) == 0
    assert capsys.readouterr().err == 'it is away. Trying again\n'
    with pytest.raises(UserError):
        Lists(UserError('it is away'), 0).watch()


@pytest.mark.parametrize('arguments', [
    ('nodes', '--watch', '1', 'hold', 'abcd'),
    ('nodes', '--watch', '0'), ('nodes', 'delete', 'abcd', '--watch', '1')])
def test_changes_are_not_repeated(zuulNodes, arguments):
    result = zuulNodes(*arguments)
    assert (result.returncode, result.stdout) == (2, '')
    assert '--watch' in result.stderr


@pytest.mark.parametrize('name', [
    'images', 'labels', 'launchers', 'leaks', 'nodes', 'providers',
    'requests', 'uploads'])
def test_every_list_can_be_repeated(zuulNodes, name):
    assert '--watch SECONDS' in zuulNodes(name, '--help').stdout
