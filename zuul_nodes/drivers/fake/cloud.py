"""A cloud in a file or in memory, with configurable delays and failures.

One SQLite database contains its state, so several processes can share the
cloud, and it outlives them.
"""

import contextlib
import json
import os
import random
import sqlite3
import threading
import time

TABLES = '''
CREATE TABLE IF NOT EXISTS instances (
    name TEXT PRIMARY KEY, tags TEXT, zone TEXT, needs TEXT,
    ready REAL, gone REAL);
CREATE TABLE IF NOT EXISTS images (
    id TEXT PRIMARY KEY, tags TEXT);
'''
# Seconds to wait for a process that is writing.
TIMEOUT = 30


class FakeError(Exception):
    """The cloud has failed, as configured.

    :ivar int status: of HTTP.
    """

    status = 503


class Cloud:
    """The state of the cloud.

    :param str path: of the file, or ``:memory:``.
    :param float create_delay: seconds until an instance is ready.
    :param float delete_delay: seconds until it is deleted.
    :param float call_delay: duration of each call in seconds.
    :param float failure_rate: share of calls that fail, 0 to 1; half of them
        after they have acted.
    """

    def __init__(self, path, create_delay=0, delete_delay=0, call_delay=0,
                 failure_rate=0):
        self.create_delay = create_delay
        self.delete_delay = delete_delay
        self.call_delay = call_delay
        self.failure_rate = failure_rate
        self._path = path
        self._lock = threading.Lock()
        self._database = None

    def close(self):
        with self._lock:
            if self._database:
                self._database.close()

    def addInstance(self, name, tags, zone, needs, limits):
        """
        :param dict limits: resource -> maximum.
        :return: None, or the resource whose limit would be exceeded.
        """
        with self._transaction() as execute:
            execute('DELETE FROM instances WHERE gone <= ?', time.time())
            if execute('SELECT 1 FROM instances WHERE name = ?',
                       name).fetchone():
                return None
            used = self._count(execute)
            for resource, limit in limits.items():
                if used.get(resource, 0) + needs.get(resource, 0) > limit:
                    return resource
            execute('INSERT INTO instances VALUES (?, ?, ?, ?, ?, NULL)',
                    name, json.dumps(tags), zone, json.dumps(needs),
                    time.time() + self.create_delay)
        return None

    def listInstances(self):
        """:return: a list of (name, tags, zone, needs, whether it is
            ready)."""
        with self._transaction(reads=True) as execute:
            now = time.time()
            return [
                (name, json.loads(tags), zone, json.loads(needs),
                 ready <= now)
                for name, tags, zone, needs, ready in execute(
                    'SELECT name, tags, zone, needs, ready FROM instances '
                    'WHERE gone IS NULL OR gone > ?', now)]

    def deleteInstance(self, name):
        with self._transaction() as execute:
            execute('UPDATE instances SET gone = ? WHERE name = ? '
                    'AND gone IS NULL', time.time() + self.delete_delay, name)

    def addImage(self, image_id, tags):
        with self._transaction() as execute:
            execute('INSERT OR REPLACE INTO images VALUES (?, ?)',
                    image_id, json.dumps(tags))

    def listImages(self):
        """:return: a dict of id -> tags."""
        with self._transaction(reads=True) as execute:
            return {image_id: json.loads(tags) for image_id, tags
                    in execute('SELECT id, tags FROM images')}

    def deleteImage(self, image_id):
        with self._transaction() as execute:
            execute('DELETE FROM images WHERE id = ?', image_id)

    def _count(self, execute):
        used = {}
        for (needs,) in execute('SELECT needs FROM instances'):
            for resource, amount in json.loads(needs).items():
                used[resource] = used.get(resource, 0) + amount
        return used

    @contextlib.contextmanager
    def _transaction(self, reads=False):
        """
        :param bool reads: whether the transaction only reads; it then creates
            no file.
        :return: a function that executes a statement with values.
        """
        if self.call_delay:
            time.sleep(self.call_delay)
        failing = random.random() < self.failure_rate
        before = failing and random.random() < 0.5
        if before:
            raise FakeError('The cloud has failed')
        with self._lock:
            if reads and self._isMissing():
                yield lambda *statement: ()
            else:
                with self._open() as database:
                    yield lambda statement, *values: database.execute(
                        statement, values)
        if failing:
            raise FakeError('The cloud has failed after it has acted')

    def _isMissing(self):
        return self._database is None and not os.path.exists(self._path)

    def _open(self):
        if self._database is None:
            # One connection for all threads, because in memory each connection
            # would have a cloud of its own.
            self._database = sqlite3.connect(
                self._path, TIMEOUT, check_same_thread=False)
            self._database.executescript(TABLES)
        return self._database
