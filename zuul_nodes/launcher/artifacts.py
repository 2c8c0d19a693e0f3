"""Artifacts of image builds: from where a job has put them to a file.

An artifact is large.  All here works in blocks and asks before each one
whether to go on, so that a launcher that stops does not wait for it.
"""

from concurrent.futures import ThreadPoolExecutor, as_completed
import hashlib
import logging
import os
import subprocess
import threading

import requests

# Seconds for a connection, and for whatever the server sends next.
TIMEOUT = (30, 300)
# What is read or written at once.
BLOCK_SIZE = 1 << 20
# What one request asks for, and how many requests there are at a time.
CHUNK_SIZE = 100 * BLOCK_SIZE
CONNECTIONS = 5
# Seconds for the decompression.
DECOMPRESSION_TIMEOUT = 3600
COMPRESSED = '.zst'
# It is the file's own bytes that ranges and sizes are about.
HEADERS = {'Accept-Encoding': 'identity'}

log = logging.getLogger('zuul.Launcher')


class ArtifactError(Exception):
    """The artifact is not to be had, or not what it should be."""


def getName(url):
    """:return: a URL without what may be a secret in it, for people."""
    return url.partition('?')[0]


def download(url, path, check):
    """
    :param str url: of a file on a web server.
    :param str path: the file to write.
    :param check: called before each block; what it raises ends it.
    """
    size = getSize(url)
    with open(path, 'wb') as file:
        file.truncate(size)
    failed = threading.Event()

    def checkAll():
        check()
        if failed.is_set():
            raise ArtifactError('Another part could not be downloaded')

    with ThreadPoolExecutor(CONNECTIONS, 'Download') as executor:
        futures = [
            executor.submit(_downloadChunk, url, path, start,
                            min(start + CHUNK_SIZE, size), size, checkAll)
            for start in range(0, size, CHUNK_SIZE)]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            failed.set()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    log.debug('Downloaded %s bytes to %s', size, path)


def getSize(url):
    """:return: the number of bytes that there are at a URL."""
    with requests.head(url, timeout=TIMEOUT, headers=HEADERS,
                       allow_redirects=True) as response:
        if response.ok and 'content-length' in response.headers:
            return int(response.headers['content-length'])
    # A URL may be signed for nothing but GET.
    with requests.get(url, stream=True, timeout=TIMEOUT,
                      headers={**HEADERS, 'Range': 'bytes=0-0'}) as response:
        response.raise_for_status()
        if 'content-range' in response.headers:
            return int(response.headers['content-range'].split('/')[-1])
        return int(response.headers['content-length'])


def _downloadChunk(url, path, start, end, size, check):
    check()
    with requests.get(
            url, stream=True, timeout=TIMEOUT, headers={
                **HEADERS, 'Range': f'bytes={start}-{end - 1}'}) as response:
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:
            # The server knows no ranges, and sends everything.
            if start:
                return
            end = size
        with open(path, 'r+b') as file:
            file.seek(start)
            for block in response.iter_content(BLOCK_SIZE):
                check()
                file.write(block)
            if file.tell() != end:
                raise ArtifactError(
                    f'{getName(url)} has {size} bytes; of those from '
                    f'{start} to {end}, {file.tell() - start} have come')


def decompress(path, check):
    """
    :param str path: of a file; removed if it is compressed.
    :return: the path of the same file, decompressed.
    """
    if not path.endswith(COMPRESSED):
        return path
    target = path.removesuffix(COMPRESSED)
    _run(['zstd', '-dqf', path, '-o', target], check)
    os.unlink(path)
    return target


def _run(command, check):
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, errors='replace')
    except FileNotFoundError:
        raise ArtifactError(
            f'This artifact needs the program "{command[0]}", which is not '
            'installed here') from None
    with process:
        try:
            for _ in range(DECOMPRESSION_TIMEOUT):
                check()
                try:
                    _, messages = process.communicate(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    pass
            else:
                raise ArtifactError(
                    f'"{command[0]}" takes more than '
                    f'{DECOMPRESSION_TIMEOUT} seconds')
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ArtifactError(f'"{command[0]}" failed: {messages.strip()}')


def verify(path, sha256, check):
    """
    :param str path: of a file.
    :param str sha256: what its checksum must be, in hexadecimal; if there
        is none, any file will do.
    :raises ArtifactError: it is another one.
    """
    if not sha256:
        log.debug('There is no checksum for %s', path)
        return
    digest = hashlib.sha256()
    with open(path, 'rb', buffering=0) as file:
        while block := file.read(BLOCK_SIZE):
            check()
            digest.update(block)
    if digest.hexdigest() != sha256.lower():
        raise ArtifactError(
            f'The checksum of {path} is {digest.hexdigest()}, the '
            f'artifact says {sha256}')
