"""An event's way through a scheduler, with a launcher and without.

Two real schedulers, Zuul's own command with the plugin, take turns on the
same ZooKeeper, each with a place there: one with no launcher, neither in
its process nor beside it, and one with ours in its process and 500 nodes
building.  The nodes are of a cloud that costs nothing; it is asked again
and again whether they are there, takes 1 ms to answer, and never says so.

A launcher asks often for a node that has just begun, and less often later.
So there are two scenarios.  For the first, the scheduler is started for each
turn, and events come as soon as all nodes are building.  For the second,
nodes have been building for some time, and turns are short; who is not to
move is stopped by a signal.

An event asks for a tag to be enqueued, as somebody does with zuul-client.
Its way begins when it is written to the queue of the tenant, and ends when
the item that became of it is not in ZooKeeper any more: it has been through
both queues of events and the pipeline, with its job frozen, a request for
nodes, a build, its result event, and a report to a database.  The job is
"noop", so all of it is the scheduler's own work, and there is no other
service.  An event comes when the one before has left, and a little later.

Numbers are medians of all events, with the least and the most.  Exits with
status 1 if something could not be measured, whatever the numbers are.
"""

import argparse
import contextlib
import dataclasses
import functools
import os
import pathlib
import platform
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.launching.report import Metric, Report  # noqa: E402
from tests.bench.launching.server import Server  # noqa: E402
from tests.bench.scheduling.zuul import Zuul  # noqa: E402
from zuul_nodes.quickstart.failure import Failure  # noqa: E402

SIDES = {'without': False, 'with': True}
METRICS = (
    Metric('through', 'an event, until its item has left', 'ms', times=1.1),
    Metric('handled', 'of this, until its result is there', 'ms', times=1.1),
    Metric('cpu', 'CPU of the process, each second', 'ms'))
WARM_UP = 3
# How long a scheduler may take to start, and nodes to begin (seconds).
TIMEOUT = 60
# How long one that was stopped by a signal has for what it has missed.
SETTLE_TIME = 2


@dataclasses.dataclass(frozen=True)
class Scenario:
    """
    :ivar function: called with a dict, side -> :class:`Zuul`, the arguments
        of the command, and a function to be called with a side and what was
        measured there.
    """
    name: str
    title: str
    function: object
    metrics: tuple = METRICS


def makeScenarios(args):
    """:return: a list of :class:`Scenario`."""
    return [
        Scenario('begun', f'{args.nodes} nodes that have just begun',
                 measureBegun),
        Scenario('building', f'{args.nodes} nodes, building for '
                 f'{args.age:g} s and more', measureBuilding)]


def parseArguments():
    parser = argparse.ArgumentParser(
        description=__doc__.partition('\n')[0])
    parser.add_argument('--scenario', choices=('begun', 'building'),
                        help='only this one')
    parser.add_argument('--nodes', type=int, default=500, metavar='N',
                        help='how many are building (%(default)s)')
    parser.add_argument('--events', type=int, default=10, metavar='N',
                        help='in one turn (%(default)s)')
    parser.add_argument('--turns', type=int, default=3, metavar='N',
                        help='of each scheduler in each scenario, and twice '
                        'as many in the second (%(default)s)')
    parser.add_argument('--age', type=float, default=20, metavar='SECONDS',
                        help='for how long nodes have been building in the '
                        'second scenario (%(default)s)')
    parser.add_argument('--directory', type=pathlib.Path,
                        help='a new one, for logs and configuration; by '
                        'default they are removed at the end')
    parser.add_argument('--format', choices=('text', 'json'), default='text')
    return parser.parse_args()


def log(message):
    print(message, file=sys.stderr, flush=True)


def measureBegun(zuuls, args, add):
    for _ in range(args.turns):
        for side, zuul in zuuls.items():
            zuul.start(TIMEOUT)
            measure(zuul, args.events, functools.partial(add, side))
            zuul.stop()


def measureBuilding(zuuls, args, add):
    for zuul in zuuls.values():
        zuul.start(TIMEOUT)
        begin = time.monotonic()
        zuul.suspend()
    for number in range(2 * args.turns):
        for side, zuul in zuuls.items():
            zuul.resume()
            time.sleep(SETTLE_TIME if number else max(
                SETTLE_TIME, begin + args.age - time.monotonic()))
            measure(zuul, args.events, functools.partial(add, side))
            zuul.suspend()


def measure(zuul, count, add):
    """Send events to a scheduler, one after the other.

    :param add: called with what was measured, a dict.
    """
    for _ in range(WARM_UP):
        zuul.events.send()
    zuul.checkNodes()
    cpu, wall = zuul.getCPU(), time.monotonic()
    for _ in range(count):
        add(zuul.events.send())
    cpu, wall = zuul.getCPU() - cpu, time.monotonic() - wall
    zuul.checkNodes()
    add({'cpu': cpu / wall})


def measureAll(args, scenarios, report, directory):
    """Run both scenarios; what fails is reported, and the next goes on."""
    server = Server(directory / 'zookeeper')
    server.start()
    try:
        for scenario in scenarios:
            begin = time.monotonic()
            with contextlib.ExitStack() as stack:
                zuuls = {side: stack.enter_context(
                    Zuul(server, f'{scenario.name}-{side}', directory,
                         embedded, args.nodes))
                    for side, embedded in SIDES.items()}
                try:
                    scenario.function(
                        zuuls, args, functools.partial(report.add, scenario))
                except Exception as error:
                    report.fail(scenario, '-', str(error) or repr(error))
                    lines = (error.last_lines if isinstance(error, Failure)
                             else traceback.format_exc().splitlines())
                    log('\n  '.join([f'FAILED: {error}', *lines]))
            log(f'{scenario.name}, {time.monotonic() - begin:.0f} s')
    finally:
        server.stop()


def main():
    args = parseArguments()
    scenarios = [scenario for scenario in makeScenarios(args)
                 if args.scenario in (None, scenario.name)]
    report = Report({
        'nodes': args.nodes, 'events': args.events, 'turns': args.turns,
        'age': args.age, 'processors': os.cpu_count(),
        'python': platform.python_version()}, tuple(SIDES), inverse=True)
    with tempfile.TemporaryDirectory() as temporary:
        directory = args.directory or pathlib.Path(temporary, 'bench')
        directory.mkdir(parents=True)
        try:
            measureAll(args, scenarios, report, directory)
        except KeyboardInterrupt:
            return 130
    report.show(scenarios, args.format)
    return bool(report.failures)


if __name__ == '__main__':
    sys.exit(main())
