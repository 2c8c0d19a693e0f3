"""One trial: a seed, its faults, and what came of it."""

import contextlib
import dataclasses
import json
import re

from tests.chaos import faults
from tests.chaos.ensemble import readHistory
from tests.chaos.invariants import Invariants
from tests.chaos.records import Records
from tests.chaos.scheduler import Scheduler
from tests.chaos.world import CLOUD_HISTORY, World
from zuul_nodes.launcher.planner.blockers import BEING_PREPARED
from zuul_nodes.launcher.requests.reconciler import UNREAD

# Seconds until all requests have ended, after everything works again.
DRAIN_TIMEOUT = 120
# Lines of a launcher's log.
WAITS = re.compile('Request (\\w+) waits: (.*)')
ACCEPTS = re.compile('Accepting request <NodesetRequest uuid=(\\w+)')


@dataclasses.dataclass(frozen=True)
class Result:
    """
    :ivar list problems: what was wrong, as text.
    :ivar dict figures: how much has happened.
    """
    problems: list
    figures: dict


def run(directory, seed, duration):
    """
    :param Path directory: for all that is written; made if it is missing.
    :param int seed: decides what happens.
    :param float duration: seconds with faults.
    :return: :class:`Result`
    """
    directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(World(directory, str(seed)))
        scheduler = Scheduler(world, str(seed))
        scheduler.start()
        stack.callback(scheduler.stop)
        faults.run(world, faults.makePlan(seed, duration))
        world.mend()
        problems = scheduler.drain(DRAIN_TIMEOUT)
        problems += [f'{each} is left' for each in world.settle()]
        problems += scheduler.problems
    result = check(directory)
    return Result(problems + result.problems, result.figures)


def readUnread(directory):
    """
    :param Path directory: that of a run.
    :return: the ids of requests that waited for a layout, by the logs.
    """
    return {match[1] for lines in _readLogs(directory)
            for match in map(WAITS.search, lines)
            if match and match[2].startswith(UNREAD)}


def readUnprepared(directory):
    """
    :param Path directory: that of a run.
    :return: pairs of ids of requests, by the logs: of one that waited for
        providers of its tenant to be prepared, and of one that was granted
        meanwhile.
    """
    pairs = set()
    for lines in _readLogs(directory):
        waiting = set()
        for line in lines:
            if match := WAITS.search(line):
                (waiting.add if BEING_PREPARED in match[2]
                 else waiting.discard)(match[1])
            elif match := ACCEPTS.search(line):
                waiting.discard(match[1])
                pairs.update((older, match[1]) for older in waiting)
    return pairs


def _readLogs(directory):
    for path in directory.glob('launcher-*.log'):
        with path.open(errors='replace') as lines:
            yield lines


def check(directory):
    """Look at the histories of a run.

    :param Path directory: that of the run.
    :return: :class:`Result`
    """
    history = readHistory(directory)
    records = Records(history)
    with (directory / CLOUD_HISTORY).open() as stream:
        cloud = [json.loads(line) for line in stream]
    invariants = Invariants(
        records, cloud, readUnread(directory), readUnprepared(directory))
    return Result(invariants.check(), {
        'requests': len(records.requests), 'nodes': len(records.nodes),
        'calls of the cloud': len(cloud), 'transactions': len(history),
        'sessions of launchers': len(records.launchers),
        'planners': len({each.planner for each in records.grants}),
        's at most until another one planned': max(
            records.takeovers, default=0.0),
        **invariants.figures})
