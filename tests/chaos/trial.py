"""One trial: a seed, its faults, and what came of it."""

import contextlib
import dataclasses
import json
import logging
import time

from tests.chaos import faults
from tests.chaos.invariants import Invariants
from tests.chaos.records import Records
from tests.chaos.scheduler import Scheduler
from tests.chaos.world import World

# Seconds until all requests have ended, after everything works again.
DRAIN_TIMEOUT = 180
log = logging.getLogger('chaos')


@dataclasses.dataclass(frozen=True)
class Result:
    """
    :ivar list problems: what was wrong, as text.
    :ivar str summary: how much has happened.
    """
    problems: list
    summary: str


def run(directory, seed, duration):
    """
    :param Path directory: for all that is written; made if it is missing.
    :param int seed: decides what happens.
    :param float duration: seconds with faults.
    :return: :class:`Result`
    """
    directory.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(World(directory, str(seed)))
        scheduler = Scheduler(world, str(seed))
        scheduler.start()
        stack.callback(scheduler.stop)
        faults.run(world, faults.makePlan(seed, duration))
        world.mend()
        problems = [f'{job} does not end'
                    for job in scheduler.drain(DRAIN_TIMEOUT)]
        problems += [f'{each} is left' for each in world.settle()]
        problems += scheduler.problems
    history = world.ensemble.readHistory()
    records = Records(history)
    with world.cloud_history.open() as stream:
        cloud = [json.loads(line) for line in stream]
    problems += Invariants(records, cloud).check()
    return Result(problems, (
        f'{time.monotonic() - begin:.0f} s, {len(records.requests)} requests, '
        f'{len(records.nodes)} nodes, {len(cloud)} calls of the cloud, '
        f'{len(history)} transactions, {len(records.launchers)} sessions of '
        'launchers'))
