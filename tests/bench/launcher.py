"""Zuul's own launcher and ours, side by side.

Each works in a process of its own, one after the other, on the same real
ZooKeeper.  They are driven and observed through ZooKeeper only: layouts
and requests are written as a scheduler does, and nodes used as an executor
does.  Both have the same drivers: that of static nodes, and a cloud that
costs nothing.  Exits with status 1 if something could not be measured,
whatever the numbers are.

What is measured in ZooKeeper is told by the server.  Operations are those
of the launcher's session, without heartbeats; a transaction counts once.
Writes are those of the session in the server's transaction log.
"""

import argparse
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

from tests.bench.launching import scenarios as measure  # noqa: E402
from tests.bench.launching.floor import measureFloor  # noqa: E402
from tests.bench.launching.report import Metric, Report  # noqa: E402
from tests.bench.launching.scenarios import QUICK, Sizes  # noqa: E402
from tests.bench.launching.server import Server  # noqa: E402
from tests.bench.launching.stage import Stage  # noqa: E402
from zuul_nodes.quickstart.failure import Failure  # noqa: E402

LAUNCHERS = {'theirs': 'zuul.launcher.server.Launcher',
             'ours': 'zuul_nodes.launcher.Launcher'}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """
    :ivar function: of ``scenarios.py``.
    :ivar dict arguments: its further arguments; a string is the name of a
        size.
    :ivar sides: the launchers that are measured if everything is.
    """
    name: str
    title: str
    function: object
    metrics: tuple
    arguments: dict = dataclasses.field(default_factory=dict)
    sides: tuple = ('theirs', 'ours')

    def getSides(self, args):
        """:return: the launchers that are measured."""
        sides = tuple(LAUNCHERS) if args.scenario else self.sides
        return [side for side in sides if args.only in (None, side)]

    def run(self, make_stage, sizes):
        return self.function(make_stage, sizes, **{
            key: getattr(sizes, value) if isinstance(value, str) else value
            for key, value in self.arguments.items()})


def makeScenarios(sizes):
    """:return: name -> :class:`Scenario`, in the order of the table."""
    def waiting(name, providers, count, sides=('theirs', 'ours'), **asked):
        return Scenario(
            name, f'{getattr(sizes, count)} requests waiting for '
            f'{measure.QUOTA} nodes of quota, over {providers} providers',
            measure.measureWaiting,
            (Metric('wall', 'each that is served meanwhile', 'ms', **asked),
             Metric('cpu', 'CPU of each', 'ms', **asked),
             Metric('operations', 'ZooKeeper operations of each', 'number')),
            {'providers': providers, 'waiting': count}, sides)

    found = (
        Scenario('ready', 'a request for a ready node, all else idle',
                 measure.measureReady,
                 (Metric('wall', 'from record to FULFILLED, median', 'ms',
                         limit=0.010),)),
        Scenario('reuse', 'a static node released by the executor',
                 measure.measureReuse,
                 (Metric('wall', 'to READY again, median', 'ms',
                         limit=0.050),)),
        Scenario('burst', f'{sizes.burst} requests at once for as many ready '
                 f'nodes', measure.measureBurst,
                 (Metric('wall', 'until all are FULFILLED', 's', quicker=5),
                  Metric('operations', 'ZooKeeper operations of each',
                         'number', limit=14),
                  Metric('writes', 'of these, writes', 'number'),
                  Metric('cpu', 'CPU of each', 'ms', limit=0.0015))),
        Scenario('instant', f'{sizes.created} nodes created in no time',
                 measure.measureCreation,
                 (Metric('wall', 'until all are FULFILLED', 's', quicker=10),
                  Metric('operations', 'ZooKeeper operations of each',
                         'number'),
                  Metric('writes', 'of these, writes', 'number'),
                  Metric('cpu', 'CPU of each', 'ms'))),
        Scenario('slow', f'{sizes.created} nodes whose creation takes 2 s',
                 measure.measureCreation,
                 (Metric('wall', 'until all are FULFILLED', 's', limit=3.5),
                  Metric('operations', 'ZooKeeper operations of each',
                         'number'),
                  Metric('cpu', 'CPU of each', 'ms')),
                 {'creation_time': 2}),
        Scenario('several', f'{sizes.created} nodes created in no time, by '
                 f'{measure.SEVERAL} launchers', measure.measureCreation,
                 (Metric('wall', 'until all are FULFILLED', 's', quicker=5),
                  Metric('operations', 'ZooKeeper operations of each, by all',
                         'number'),
                  Metric('cpu', 'CPU of each, by all', 'ms')),
                 {'launchers': measure.SEVERAL}),
        waiting('waiting-10', 10, 'waiting', quicker=20),
        waiting('waiting-40', 40, 'waiting', quicker=20, like='waiting-10'),
        waiting('waiting-few', 10, 'few', ('ours',), like='waiting-10'),
        waiting('waiting-many', 10, 'many', ('ours',), like='waiting-10'),
        Scenario('idle', f'{sizes.idle} ready nodes, and nothing to do',
                 measure.measureIdle,
                 (Metric('cpu', 'CPU a minute', 'ms', quicker=1),
                  Metric('packets', 'ZooKeeper operations a minute',
                         'number', quicker=1),
                  Metric('operations', 'of these, no heartbeats',
                         'number'))),
        Scenario('killed', f'one of two launchers killed with '
                 f'{sizes.building} nodes building', measure.measureKilled,
                 (Metric('wall', 'all FULFILLED after its session expired',
                         's', limit=2),)),
    )
    return {scenario.name: scenario for scenario in found}


def parseArguments():
    sizes = Sizes()
    parser = argparse.ArgumentParser(
        description=__doc__.partition('\n')[0],
        epilog='Scenarios: ' + '; '.join(
            f'{scenario.name}: {scenario.title}'
            for scenario in makeScenarios(sizes).values()))
    parser.add_argument('--scenario', action='append', metavar='NAME',
                        choices=makeScenarios(sizes),
                        help='only this one; may be given several times')
    parser.add_argument('--only', choices=LAUNCHERS,
                        help='only one of the launchers')
    for side, name in LAUNCHERS.items():
        parser.add_argument(f'--{side}', default=name, metavar='CLASS',
                            help='class with its module (%(default)s)')
    parser.add_argument('--quick', action='store_true',
                        help='about a fifth of everything')
    parser.add_argument('--repeat', type=int, default=1, metavar='N',
                        help='measure so many times; median (min-max)')
    parser.add_argument('--timeout', type=float, default=400,
                        metavar='SECONDS', help='how long one scenario of '
                        'one launcher may take (%(default)s)')
    parser.add_argument('--log-level', default='WARNING',
                        help="the launchers' (%(default)s)")
    parser.add_argument('--directory', type=pathlib.Path,
                        help='a new one, for logs and configuration; by '
                        'default they are removed at the end')
    parser.add_argument('--format', choices=('text', 'json'), default='text')
    return parser.parse_args()


def log(message):
    print(message, file=sys.stderr, flush=True)


def measureAll(args, scenarios, sizes, report, directory):
    """Run every scenario; what fails is reported, and the next goes on."""
    server = Server(directory / 'zookeeper')
    server.start()
    try:
        log('floor')
        report.floor = measureFloor(server, sizes.burst)
        for scenario in scenarios:
            for number in range(args.repeat):
                for side in scenario.getSides(args):
                    begin = time.monotonic()
                    make_stage = functools.partial(
                        Stage, server, f'{scenario.name}-{side}',
                        getattr(args, side), directory, args.timeout,
                        args.log_level)
                    outcome = measureOne(
                        scenario, side, make_stage, sizes, report)
                    log(f'{scenario.name}, {side}, {number + 1} of '
                        f'{args.repeat}, {time.monotonic() - begin:.0f} s: '
                        f'{outcome}')
    finally:
        server.stop()


def measureOne(scenario, side, make_stage, sizes, report):
    """:return: what came of it, to be read."""
    try:
        values = scenario.run(make_stage, sizes)
    except Exception as error:
        report.fail(scenario, side, str(error) or repr(error))
        lines = (error.last_lines if isinstance(error, Failure)
                 else traceback.format_exc().splitlines())
        return '\n  '.join([f'FAILED: {error}', *lines])
    report.add(scenario, side, values)
    return ', '.join(f'{key} {value:.4g}' for key, value in values.items())


def main():
    args = parseArguments()
    sizes = QUICK if args.quick else Sizes()
    every = makeScenarios(sizes)
    scenarios = [scenario for name, scenario in every.items()
                 if not args.scenario or name in args.scenario]
    report = Report({
        'theirs': args.theirs, 'ours': args.ours, 'repeat': args.repeat,
        'log_level': args.log_level, 'sizes': dataclasses.asdict(sizes),
        'processors': os.cpu_count(),
        'python': platform.python_version()})
    with tempfile.TemporaryDirectory() as temporary:
        directory = args.directory or pathlib.Path(temporary, 'bench')
        directory.mkdir(parents=True)
        try:
            measureAll(args, scenarios, sizes, report, directory)
        except KeyboardInterrupt:
            return 130
    report.show(scenarios, args.format)
    return bool(report.failures)


if __name__ == '__main__':
    sys.exit(main())
