"""Start OpenStack's own services, to try something by hand.

usage: python -m tests.emulators.openstackservices [DIRECTORY]

Prints the path of a clouds.yaml with the clouds "zuul", which is a project,
and "admin", and stays until it is interrupted.  Without a directory all is
gone then, unless something fails.
"""

import pathlib
import shutil
import signal
import sys
import tempfile
import threading

from tests.emulators.openstackservices import OpenStackServices
from zuul_nodes.quickstart.failure import Failure


def main():
    directory = pathlib.Path(*sys.argv[1:2] or [
        tempfile.mkdtemp(prefix='openstack-')])
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *args: done.set())
    services = OpenStackServices(directory)
    try:
        services.start()
        services.cloud.makeProject('zuul')
        print(services.cloud.writeConfig(directory / 'clouds.yaml'),
              flush=True)
        done.wait()
    except Failure as failure:
        sys.exit('\n'.join([
            f'{failure.reason}; see {failure.log_file}:',
            *failure.last_lines]))
    finally:
        services.end()
    if not sys.argv[1:]:
        shutil.rmtree(directory)


if __name__ == '__main__':
    main()
