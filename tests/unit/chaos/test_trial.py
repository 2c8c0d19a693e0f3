"""A short run of launchers with random faults, and how faults are chosen."""

import pytest

from tests.chaos import faults, trial

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
