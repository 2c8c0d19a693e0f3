import json
import socket
import subprocess
import sys

import pytest

GUARDED = '''
import json, socket, sys
from zuul_nodes.quickstart import loopback
loopback.guard()
family, address = getattr(socket, sys.argv[1]), sys.argv[2]
with socket.socket(family, socket.SOCK_STREAM) as sock:
    sock.bind((address, 0))
    sock.listen()
    print(json.dumps(sock.getsockname()[:2]), flush=True)
    sys.stdin.read()
'''


@pytest.mark.parametrize('family, address, bound', [
    ('AF_INET', '', '127.0.0.1'),
    ('AF_INET', '0.0.0.0', '127.0.0.1'),
    ('AF_INET', '127.0.0.1', '127.0.0.1'),
    ('AF_INET6', '', '::ffff:127.0.0.1'),
    ('AF_INET6', '::', '::ffff:127.0.0.1'),
])
def test_wildcards_are_bound_on_loopback(family, address, bound):
    process = subprocess.Popen(
        [sys.executable, '-c', GUARDED, family, address], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        listening, port = json.loads(process.stdout.readline())
        assert listening == bound
        socket.create_connection(('127.0.0.1', port), 5).close()
        process.stdin.close()
    assert process.returncode == 0


def test_other_families_are_left_alone(tmp_path):
    path = tmp_path / 'socket'
    subprocess.run(
        [sys.executable, '-c',
         'import socket, sys\n'
         'from zuul_nodes.quickstart import loopback\n'
         'loopback.guard()\n'
         'socket.socket(socket.AF_UNIX).bind(sys.argv[1])', path],
        check=True)
    assert path.is_socket()


def test_runs_the_console_script(runProgram):
    result = runProgram('loopback.py', '''
import sys
from zuul_nodes.quickstart import loopback
sys.exit(loopback.main())
''', 'zuul-executor', '--version')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('Zuul version: 14.')
