"""Run Zuul's tests on our classes; see ``tests/upstream/__init__.py``.

usage: python -m tests.upstream [--directory DIRECTORY] [--stock] [PYTEST...]

What is not known here is given to pytest: "-k image", "-n 4", or the tests
to run, as tests/unit/test_launcher.py::TestLauncher::test_launcher_max_age.
The exit status is 0 if what came of the tests is what expected.yaml says.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from tests.upstream import outcomes, prepare
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.zookeeper import ZooKeeper

TESTS = ('tests/unit/test_launcher.py', 'tests/unit/test_static_driver.py')
INSIDE = pathlib.Path(__file__).parent / 'inside'
# Seconds for one test, as Zuul has it for its own runs.
TEST_TIMEOUT = 360
WORKERS = 2
# What pytest ends with when it has run tests.
RAN = (0, 1)


def parseArguments():
    parser = argparse.ArgumentParser(
        prog='python -m tests.upstream', allow_abbrev=False,
        description="Run Zuul's own tests on our classes; what is not known "
                    "here is given to pytest.")
    parser.add_argument(
        '--directory', type=pathlib.Path, help='where downloads are kept')
    parser.add_argument(
        '--stock', action='store_true',
        help="run them on Zuul's own classes; nothing is expected then")
    return parser.parse_known_args()


def makeEnvironment(zookeeper, tests, root):
    """
    :param ZooKeeper zookeeper: for the tests.
    :param Path tests: the directory with the package ``tests`` of Zuul.
    :param Path root: where tests may write.
    :return: the environment for the process of the tests.
    """
    certificates = zookeeper.certificates
    return {
        **os.environ,
        # Zuul's package comes first: ours may be in the path, too.
        'PYTHONPATH': os.pathsep.join(map(str, (tests, INSIDE))),
        # Ansible takes the Python that it finds here, and inside
        # bubblewrap only the system's is to be seen.
        'PATH': '/usr/bin:/bin:/usr/sbin:/sbin',
        'TMPDIR': str(root),
        'ZUUL_TEST_ROOT': str(root),
        'ZUUL_ZK_HOST': zookeeper.hosts,
        'ZUUL_ZK_CA': str(certificates.ca),
        'ZUUL_ZK_CERT': str(certificates.client_cert),
        'ZUUL_ZK_KEY': str(certificates.client_key),
        'OS_TEST_TIMEOUT': str(TEST_TIMEOUT),
        'OS_LOG_CAPTURE': '1',
        'OS_STDOUT_CAPTURE': '1',
        'OS_STDERR_CAPTURE': '1',
    }


def runTests(directory, arguments, stock, without):
    """Run pytest, which shows its progress.

    :param Path directory: where things are kept.
    :param list arguments: for pytest.
    :param bool stock: whether to leave our classes out.
    :param list without: the tests that are not to be run.
    :return: test -> 'passed', 'failed' or 'skipped'.
    """
    tests = prepare.fetchTests(directory)
    ansible_root = prepare.installAnsible(directory)
    results = directory / 'outcomes.json'
    results.unlink(missing_ok=True)
    logs = directory / 'logs'
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    # The paths of sockets must be short.
    with tempfile.TemporaryDirectory(prefix='upstream-', dir='/tmp') as name:
        root = pathlib.Path(name)
        zookeeper = ZooKeeper(
            root / 'zookeeper', Certificates(root / 'certificates'),
            ports.freePort(), log_file=logs / 'zookeeper.log')
        zookeeper.start()
        try:
            status = runPytest(
                tests, makeEnvironment(zookeeper, tests, root),
                f'--ansible-root={ansible_root}', f'--outcomes={results}',
                f'--logs={logs}', *(['--stock'] if stock else []),
                *(f'--without={name}' for name in without), *arguments)
        finally:
            zookeeper.stop()
    if status not in RAN:
        sys.exit(f'pytest ended with status {status}')
    return json.loads(results.read_text())


def runPytest(directory, environment, *arguments):
    """:return: its exit status."""
    # Its output is a pipe for the sake of the adapter.
    with subprocess.Popen(
            [sys.executable, '-u', '-m', 'pytest', '-p', 'upstream_adapter',
             '-p', 'no:logging', '-p', 'no:cacheprovider', '--capture=sys',
             '-n', str(WORKERS), '--dist', 'worksteal', '-v', '--tb=no',
             '--no-header', '--disable-warnings', '--durations=10',
             *arguments],
            cwd=directory, env=environment, text=True, errors='replace',
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            print(line, end='', flush=True)
    return process.returncode


def main():
    options, arguments = parseArguments()
    directory = options.directory or pathlib.Path(tempfile.mkdtemp())
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    chosen = any(argument.startswith('tests/') for argument in arguments)
    expected = outcomes.loadExpected(prepare.getZooKeeperVersion())
    came = runTests(
        directory, arguments if chosen else [*arguments, *TESTS],
        options.stock,
        [name for name, outcome in expected.items() if outcome == 'skipped'])
    counts = collections.Counter(came.values())
    print(f'{len(came)} tests in {time.monotonic() - begin:.0f} s: ' +
          ', '.join(f'{counts[outcome]} {outcome}'
                    for outcome in ('passed', 'failed', 'skipped')))
    print(f'The logs of those that failed are in {directory}/logs.')
    if options.stock:
        return 0
    differences = outcomes.compare(came, expected, complete=not arguments)
    for difference in differences:
        print(difference)
    print('Not as expected.' if differences else 'All as expected.')
    return 1 if differences else 0


if __name__ == '__main__':
    sys.exit(main())
