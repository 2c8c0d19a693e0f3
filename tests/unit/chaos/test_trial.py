"""A short run of launchers with random faults, and how faults are chosen."""

import pytest

from tests.chaos import faults, trial
from tests.chaos.__main__ import NUMBER, parseArguments
from zuul_nodes.launcher.planner.blockers import BEING_PREPARED
from zuul_nodes.launcher.requests.reconciler import UNREAD

SEED = 1
# Seconds with faults.
DURATION = 35


@pytest.mark.crash
@pytest.mark.seconds(110)
def test_nothing_is_wrong_after_random_faults(tmp_path):
    result = trial.run(tmp_path, SEED, DURATION)
    print(result.figures)
    assert result.problems == [], (
        f'seed {SEED}, {DURATION} s; the history is in {tmp_path}')
    assert result.figures['requests'] > 10
    assert result.figures['sessions of launchers'] > 3


def test_logs_tell_of_requests_that_could_not_be_planned(tmp_path):
    (tmp_path / 'launcher-1.log').write_text(f"""\
10:00:00 Request a waits: {UNREAD}
10:00:01 Request b waits: No provider has capacity. west: {BEING_PREPARED}
10:00:01 Request c waits: No provider has capacity. west: {BEING_PREPARED}
10:00:02 Accepting request <NodesetRequest uuid=d, state=requested>
10:00:03 Request b waits: No provider has capacity. west: 5 in use
10:00:04 Accepting request <NodesetRequest uuid=e, state=requested>
10:00:05 Accepting request <NodesetRequest uuid=c, state=requested>
10:00:06 Accepting request <NodesetRequest uuid=f, state=requested>
""")
    (tmp_path / 'launcher-2.log').write_text("""\
10:00:03 Accepting request <NodesetRequest uuid=g, state=requested>
""")
    assert trial.readUnread(tmp_path) == {'a'}
    assert trial.readUnprepared(tmp_path) == {
        ('b', 'd'), ('c', 'd'), ('c', 'e')}


def test_a_plan_depends_on_its_seed_only():
    first, again, other = (
        list(map(str, faults.makePlan(seed, 60))) for seed in (1, 1, 2))
    assert first == again != other


def test_each_fault_ends():
    plan = faults.makePlan(SEED, DURATION)
    going_on = set()
    for _, step, fault in plan:
        (going_on.add if step == 'begin' else going_on.remove)(id(fault))
    assert not going_on
    assert max(when for when, *_ in plan) == DURATION


def test_seeds_are_random_if_none_are_given():
    first, second = (parseArguments([]).seeds for _ in range(2))
    assert len(set(first)) == len(set(second)) == NUMBER
    assert first != second
    assert parseArguments(['7', '8']).seeds == [7, 8]


def test_earlier_histories_are_found_by_their_seeds(capsys):
    with pytest.raises(SystemExit):
        parseArguments(['--check'])
    assert '--check needs the seeds' in capsys.readouterr().err
