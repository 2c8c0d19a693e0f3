"""What drivers cost: lines of code, and calls to their clouds.

Nodes are made and removed by our launcher, one alone, and many at once, at
clouds that count how often they are called.  Zuul's own drivers stand beside
ours, where there are such.  Looking for leaks and asking for limits is not
counted, as far as it does not happen to fall into that time.
"""

import argparse
import pathlib
import sys
import tempfile
import tokenize
import traceback

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import prettytable  # noqa: E402
import zuul.driver  # noqa: E402

from tests.bench.driving.clouds import CLOUDS  # noqa: E402
from tests.bench.driving.cost import measure, startLauncher  # noqa: E402
from tests.bench.launching.server import Server  # noqa: E402

OURS = ROOT / 'zuul_nodes'
ZUULS = pathlib.Path(zuul.driver.__file__).parent
DRIVERS = {
    'template of new-driver': OURS / 'cmd/driver-template/zuul_acme',
    'fake': OURS / 'drivers/fake',
    'local': OURS / 'drivers/local',
    'gce': OURS / 'drivers/gce',
    'aws': OURS / 'drivers/aws',
    'azure': OURS / 'drivers/azure',
    'kubernetes': OURS / 'drivers/kubernetes',
    'openstack': OURS / 'drivers/openstack',
    "aws, Zuul's": ZUULS / 'aws',
    "azure, Zuul's": ZUULS / 'azure',
    "kubernetes, Zuul's": ZUULS / 'kubernetes',
    "openstack, Zuul's": ZUULS / 'openstack',
    "static, Zuul's": ZUULS / 'static',
}
# What is no code, as tokenize sees it.
LAYOUT = frozenset({
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
    tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER})


def countLines(directory):
    """:return: how many lines have code: no comment, no docstring."""
    return sum(map(countLinesOf, directory.rglob('*.py')))


def countLinesOf(path):
    lines = set()
    previous = tokenize.NEWLINE
    with open(path, 'rb') as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type in LAYOUT:
                if token.type not in (tokenize.COMMENT, tokenize.NL):
                    previous = token.type
                continue
            is_doc = token.type == tokenize.STRING and previous in (
                tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
                tokenize.ENCODING)
            previous = token.type
            if not is_doc:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def showLines():
    table = prettytable.PrettyTable(['driver', 'files', 'lines of code'])
    table.align = 'r'
    table.align['driver'] = 'l'
    for name, directory in DRIVERS.items():
        table.add_row([name, len(list(directory.rglob('*.py'))),
                       countLines(directory)])
    print(table)


def showCalls(names, many):
    """:return: whether all could be measured."""
    table = prettytable.PrettyTable([
        'driver', 'nodes at once', 'calls', 'calls for each', 'seconds'])
    table.align = 'r'
    table.align['driver'] = 'l'
    is_whole = True
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place)
        server = Server(directory / 'zookeeper')
        server.start()
        try:
            for name in names:
                try:
                    for row in measureCloud(name, server, directory, many):
                        table.add_row([name, *row])
                except Exception:
                    # The next go on.
                    traceback.print_exc()
                    is_whole = False
        finally:
            server.stop()
    print(table)
    return is_whole


def measureCloud(name, server, directory, many):
    """:return: yields number of nodes, calls, calls for each, seconds."""
    number = list(CLOUDS).index(name)
    place = directory / str(number)
    place.mkdir()
    with CLOUDS[name](place) as (cloud, driver_class, count), startLauncher(
            server, place, cloud, driver_class, number) as launcher:
        for nodes in (1, many):
            print(f'{name}: {nodes}', file=sys.stderr)
            seconds, calls = measure(launcher, count, nodes)
            yield nodes, calls, f'{calls / nodes:.2f}', f'{seconds:.1f}'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--many', type=int, default=500, metavar='NUMBER',
                        help='of nodes at once (%(default)s)')
    parser.add_argument('--driver', action='append', choices=CLOUDS,
                        help='only the calls of this one; may be given '
                        'several times')
    args = parser.parse_args()
    if not args.driver:
        showLines()
    return not showCalls(args.driver or CLOUDS, args.many)


if __name__ == '__main__':
    sys.exit(main())
