"""Run launchers with random faults, and check what came of it.

Each seed is a run of its own.  What it has written, such as the logs of the
launchers, is kept if something was wrong.  Without seeds, there are three
random ones.
"""

import argparse
import logging
import pathlib
import random
import shutil
import sys
import tempfile

from tests.chaos import trial

# Number of random seeds, and what is above all of them.
NUMBER = 3
END = 1_000_000


def parseArguments(arguments=None):
    """
    :param list arguments: by default, those of the process.
    """
    parser = argparse.ArgumentParser(
        prog='python -m tests.chaos', description=__doc__)
    parser.add_argument('seeds', nargs='*', type=int, metavar='SEED',
                        help='what decides the faults')
    parser.add_argument('--seconds', type=float, default=120,
                        help='how long there are faults, with each seed')
    parser.add_argument('--check', action='store_true',
                        help='look at earlier histories once more')
    parser.add_argument('--directory', type=pathlib.Path,
                        help='where logs and histories are kept')
    args = parser.parse_args(arguments)
    if args.check and not args.seeds:
        parser.error('--check needs the seeds of earlier histories')
    args.seeds = args.seeds or random.sample(range(END), NUMBER)
    return args


def main():
    args = parseArguments()
    logging.basicConfig(level='WARNING',
                        format='%(asctime)s %(name)s: %(message)s')
    logging.getLogger('chaos').setLevel('INFO')
    root = args.directory or pathlib.Path(tempfile.mkdtemp(prefix='chaos-'))
    failed = []
    print(f'Seeds: {" ".join(map(str, args.seeds))}', flush=True)
    for seed in args.seeds:
        directory = root / f'seed-{seed}'
        if args.check:
            result = trial.check(directory)
        else:
            shutil.rmtree(directory, ignore_errors=True)
            print(f'Seed {seed}: {args.seconds:g} s with faults', flush=True)
            result = trial.run(directory, seed, args.seconds)
        print(f'Seed {seed}: ' + ', '.join(
            f'{number:g} {name}' for name, number in result.figures.items()))
        for problem in result.problems:
            print(f'Seed {seed}: {problem}')
        if result.problems:
            failed.append(seed)
            print(f'Seed {seed}: the history is in {directory}', flush=True)
        elif not args.check:
            shutil.rmtree(directory)
    print(f'Failed: {", ".join(map(str, failed))}' if failed else 'All passed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
