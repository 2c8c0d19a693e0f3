"""A cloud in a process of its own, with a history of what it did.

``python -m tests.chaos.cloud PORT REGIONS HISTORY SEED``: REGIONS is JSON, the
options of each region (:mod:`.site`).  Each call is a POST to REGION/METHOD
with a JSON object; METHOD ``faults`` sets what goes wrong in the region:

``failing``
    the share of calls that fail before the cloud has acted,
``lost``
    the share of calls after which the cloud breaks the connection, instead of
    an answer,
``hanging``
    the share of calls that are never answered, and do nothing,
``full``
    the labels of which there is no capacity.

Creations and deletions are lines of the file HISTORY, JSON as well.
"""

import http.server
import json
import random
import sys
import threading
import time
import uuid

from zuul_nodes.quickstart import ports

# Seconds: what launchers wait for an answer, and how long a call hangs.
CALL_TIMEOUT = 3
HANGING = 5
FAILED, QUOTA, CAPACITY = 503, 429, 507
# The time that an instance takes to be created and deleted, and a call.
CREATION = (0.3, 1.5)
DELETION = (0.1, 0.6)
CALL = (0.005, 0.05)


class Refused(Exception):
    """:param int status: of HTTP."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Region:
    """The instances of one region.

    :param dict options: ``limits``, resource -> limit; ``keeps_limits``,
        whether this region refuses what exceeds them, or leaves that to its
        users; ``unique``, whether it refuses a name that is in use.
    :param note: called with what happens.
    """

    def __init__(self, options, note, seed):
        self.options = options
        self.note = note
        self.random = random.Random(seed)
        self.faults = {}
        self.instances = {}
        self.lock = threading.Lock()

    def handle(self, method, arguments):
        """:return: the answer, or None if there is none."""
        if method == 'faults':
            self.faults = arguments
            return {}
        with self.lock:
            luck = self.random.random
            pause = self.random.uniform(*CALL)
            is_failing, is_lost, is_hanging = (
                luck() < self.faults.get(name, 0)
                for name in ('failing', 'lost', 'hanging'))
        time.sleep(pause)
        if is_hanging:
            time.sleep(HANGING)
            return None
        if is_failing:
            raise Refused(FAILED)
        with self.lock:
            answer = getattr(self, f'_{method}')(arguments)
        return None if is_lost else answer

    def _list(self, arguments):
        now = time.time()
        return {key: {**each, 'is_ready': each['ready'] <= now}
                for key, each in self._getPresent().items()}

    def _getPresent(self):
        now = time.time()
        return {key: each for key, each in self.instances.items()
                if each['gone'] is None or each['gone'] > now}

    def _create(self, arguments):
        name, needs = arguments['name'], arguments['needs']
        present = self._getPresent()
        if self.options['unique'] and name in present:
            return {'id': name}
        if arguments['label'] in self.faults.get('full', ()):
            raise Refused(CAPACITY)
        if self.options['keeps_limits']:
            for resource, limit in self.options['limits'].items():
                used = sum(each['needs'][resource]
                           for each in present.values())
                if used + needs[resource] > limit:
                    raise Refused(QUOTA)
        key = name if self.options['unique'] else uuid.uuid4().hex
        self.instances[key] = {
            'tags': arguments['tags'], 'needs': needs, 'gone': None,
            'ready': time.time() + self.random.uniform(*CREATION)}
        self.note('created', arguments, id=key, needs=needs,
                  node=arguments['tags']['zuul_node_uuid'])
        return {'id': key}

    def _delete(self, arguments):
        instance = self.instances.get(arguments['id'])
        if instance and instance['gone'] is None:
            instance['gone'] = time.time() + self.random.uniform(*DELETION)
            self.note('deleted', arguments, id=arguments['id'],
                      gone=instance['gone'],
                      node=instance['tags']['zuul_node_uuid'])
        return {}


class Cloud:
    """
    :param dict regions: name -> options of a :class:`Region`.
    :param history: a writable file.
    """

    def __init__(self, regions, history, seed):
        self.history = history
        self.regions = {
            name: Region(options, lambda what, call, name=name, **more:
                         self._note(name, what, call, **more),
                         f'{seed} {name}')
            for name, options in regions.items()}

    def _note(self, region, what, call, **more):
        self.history.write(json.dumps({
            'time': time.time(), 'what': what, 'region': region,
            'session': call['session'], 'begun': call['begun'],
            **more}) + '\n')


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        arguments = json.loads(
            self.rfile.read(int(self.headers['content-length'])))
        _, region, method = self.path.split('/')
        status = 200
        try:
            answer = self.server.cloud.regions[region].handle(
                method, arguments)
        except Refused as error:
            status, answer = error.status, {}
        if answer is None:
            return
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header('content-length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def main():
    port, regions, path, seed = sys.argv[1:]
    server = Server((ports.LOOPBACK, int(port)), Handler)
    with open(path, 'a', buffering=1) as history:
        server.cloud = Cloud(json.loads(regions), history, seed)
        server.serve_forever()


if __name__ == '__main__':
    main()
