"""A toy cloud in a directory, which stands in for acme at first.

It behaves like a real cloud: it outlives its clients, serves several at the
same time, takes time and rejects requests.  Servers are files, and their
address is that of this machine.  Remove it when the adapter calls acme.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import time
import uuid
from collections.abc import Iterator
from typing import Any

# An image that every account has.
STOCK_IMAGE = 'debian'
ADDRESS = '127.0.0.1'
# Default of the maximum number of servers.
LIMIT = 50
# Seconds until a server runs.
BOOT_TIME = 0.1

# A server or an image: what is in its file.
Thing = dict[str, Any]


class NotFound(Exception):
    pass


class AlreadyExists(Exception):
    pass


class LimitExceeded(Exception):
    pass


class ToyCloud:
    """
    :param path: of the directory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.servers = pathlib.Path(path, 'servers')
        self.images = pathlib.Path(path, 'images')
        self.limit = pathlib.Path(path, 'limit')
        for directory in (self.servers, self.images):
            directory.mkdir(parents=True, exist_ok=True)

    def createServer(self, name: str, image_id: str, size: str,
                     tags: dict[str, str]) -> None:
        with self._lock():
            if (self.servers / name).exists():
                raise AlreadyExists(f'the server {name} exists already')
            if image_id != STOCK_IMAGE and not (
                    self.images / image_id).exists():
                raise NotFound(f'the image {image_id} does not exist')
            if len(_readAll(self.servers)) >= self.getLimit():
                raise LimitExceeded('the limit of servers is reached')
            _write(self.servers / name, name=name, image=image_id, size=size,
                   tags=tags, address=ADDRESS, created=time.time())

    def listServers(self) -> list[Thing]:
        now = time.time()
        return [
            server | {'status': 'running' if server['created'] + BOOT_TIME
                      < now else 'starting'}
            for server in _readAll(self.servers)]

    def deleteServer(self, name: str) -> None:
        _remove(self.servers / name)

    def getLimit(self) -> int:
        try:
            return int(self.limit.read_text())
        except FileNotFoundError:
            return LIMIT

    def setLimit(self, number: int) -> None:
        self.limit.write_text(str(number))

    def uploadImage(self, name: str, path: str, tags: dict[str, str]) -> str:
        """:return: the id of the new image."""
        image_id = uuid.uuid4().hex
        _write(self.images / image_id, id=image_id, name=name, tags=tags,
               size=pathlib.Path(path).stat().st_size)
        return image_id

    def listImages(self) -> list[Thing]:
        return _readAll(self.images)

    def deleteImage(self, image_id: str) -> None:
        _remove(self.images / image_id)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with open(self.servers.with_name('lock'), 'w') as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def _readAll(directory: pathlib.Path) -> list[Thing]:
    found = []
    for path in directory.iterdir():
        # Files with a suffix are still being written.
        if not path.suffix:
            with contextlib.suppress(FileNotFoundError):
                found.append(json.loads(path.read_text()))
    return found


def _write(path: pathlib.Path, **content: object) -> None:
    part = path.with_suffix('.part')
    part.write_text(json.dumps(content))
    part.replace(path)


def _remove(path: pathlib.Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        raise NotFound(f'{path.name} does not exist') from None
