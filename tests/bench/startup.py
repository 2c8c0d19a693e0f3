"""What the start-up file costs programs that are none of Zuul's.

Starts Python with and without the file in turn and compares the medians.
"""

import pathlib
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv

RUNS = 200


def measure(python):
    begin = time.perf_counter()
    subprocess.run([python, '-c', ''], check=True)
    return time.perf_counter() - begin


def main():
    root = pathlib.Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as directory:
        pythons = {}
        for name in ('without', 'with'):
            home = pathlib.Path(directory, name)
            venv.create(home, symlinks=True, with_pip=(name == 'with'))
            pythons[name] = home / 'bin/python'
        subprocess.run(
            [pythons['with'], '-m', 'pip', '-q', 'install', '--no-deps',
             '--disable-pip-version-check', root], check=True)
        subprocess.run(
            [pythons['with'], '-m', 'pip', '-q', 'uninstall', '-y',
             '--disable-pip-version-check', 'setuptools'], check=True)
        times = {name: [] for name in pythons}
        for _ in range(RUNS):
            for name, python in pythons.items():
                times[name].append(measure(python))
    without, with_plugin = (statistics.median(times[name])
                            for name in ('without', 'with'))
    print(f'Python {sysconfig.get_python_version()}, {RUNS} starts each, '
          f'median: {without * 1e3:.2f} ms without the start-up file, '
          f'{with_plugin * 1e3:.2f} ms with it: '
          f'{(with_plugin - without) * 1e3:+.2f} ms, '
          f'ratio {with_plugin / without:.3f}')


if __name__ == '__main__':
    sys.exit(main())
