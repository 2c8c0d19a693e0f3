"""Places to store images in: a web server that takes files, and Swift.

Swift is as much of one as its own client needs: the protocol is
https://docs.openstack.org/api-ref/object-store/ and version 1 of its
authentication.
"""

import base64
import http.server
import json
import os
import pathlib
import shutil
import threading

from zuul_nodes.drivers import addresses
from zuul_nodes.imagefiles import DiskSpace
from zuul_nodes.launcher.images import artifacts, web
from zuul_nodes.launcher.settings import Settings

BLOCK_SIZE = 1 << 20


class Server(http.server.ThreadingHTTPServer):
    """
    :param directory: of the files.
    :param dict required: headers that a request must have that changes
        files.
    :ivar list requests: method and path of what has been asked for.
    """

    def __init__(self, directory, required=None, handler=None):
        super().__init__(('127.0.0.1', 0), handler or Handler)
        self.directory = pathlib.Path(directory)
        self.required = required or {}
        self.requests = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f'http://127.0.0.1:{self.server_port}'

    def stop(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):

    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def parse_request(self):
        if not super().parse_request():
            return False
        path, _, self.query = self.path.partition('?')
        self.file = self.server.directory / path.strip('/')
        self.server.requests.append((self.command, self.path))
        return True

    def do_HEAD(self):
        self.send(with_body=False)

    def do_GET(self):
        self.send(with_body=True)

    def send(self, with_body, headers=None):
        if not self.file.is_file():
            return self.answer(404)
        self.send_response(200)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header('Content-Length', self.file.stat().st_size)
        self.end_headers()
        if with_body:
            with self.file.open('rb') as file:
                shutil.copyfileobj(file, self.wfile)

    def do_PUT(self):
        if self.permit():
            self.receive()
            self.answer(201)

    def do_DELETE(self):
        if self.permit():
            found = self.file.is_file()
            self.file.unlink(missing_ok=True)
            self.answer(204 if found else 404)

    def permit(self):
        for name, value in self.server.required.items():
            if self.headers.get(name) != value:
                self.close_connection = True
                self.answer(401)
                return False
        return True

    def receive(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        left = int(self.headers['Content-Length'])
        with self.file.open('wb') as file:
            while left:
                block = self.rfile.read(min(left, BLOCK_SIZE))
                file.write(block)
                left -= len(block)

    def answer(self, status, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header('Content-Length', 0)
        self.end_headers()


def basic(user, password):
    """:return: the headers of a user."""
    token = base64.b64encode(f'{user}:{password}'.encode()).decode()
    return {'Authorization': f'Basic {token}'}


class SwiftHandler(Handler):
    """Large objects are written as one; what they are made of stays."""

    def do_GET(self):
        if self.path == '/auth/v1.0':
            wanted = (self.server.user, self.server.key)
            if wanted != (self.headers['X-Auth-User'],
                          self.headers['X-Auth-Key']):
                return self.answer(401)
            return self.answer(200, {
                'X-Auth-Token': 'token',
                'X-Storage-Url': f'{self.server.url}/v1/a'})
        self.send(with_body=True)

    def send(self, with_body, headers=None):
        if self.file.is_dir():
            return self.answer(204)
        if self.file in self.server.manifests:
            headers = {'X-Static-Large-Object': 'True'}
        super().send(with_body, headers)

    def do_POST(self):
        if self.permit():
            self.answer(204)

    def do_PUT(self):
        if not self.permit():
            return
        if len(self.file.relative_to(self.server.directory).parts) == 3:
            self.file.mkdir(parents=True, exist_ok=True)
            return self.answer(201)
        if 'chunked' in self.headers.get('Transfer-Encoding', ''):
            self.receiveChunks()
        else:
            self.receive()
        if 'multipart-manifest=put' in self.query:
            segments = [
                self.server.directory / 'v1/a' / each['path'].strip('/')
                for each in json.loads(self.file.read_text())]
            self.server.manifests[self.file] = segments
            with self.file.open('wb') as file:
                for segment in segments:
                    file.write(segment.read_bytes())
        self.answer(201)

    def receiveChunks(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open('wb') as file:
            while size := int(self.rfile.readline(), 16):
                file.write(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()

    def do_DELETE(self):
        if 'multipart-manifest=delete' in self.query:
            for segment in self.server.manifests.pop(self.file):
                segment.unlink()
        super().do_DELETE()


class Swift(Server):

    def __init__(self, directory, user, key):
        self.user = user
        self.key = key
        self.manifests = {}
        super().__init__(directory, {'X-Auth-Token': 'token'}, SwiftHandler)


def fetch(artifact, directory):
    """:return: the path of an image, as the launcher gets and checks it."""
    url = artifact['url']
    path = os.path.join(directory, url.rpartition('/')[2])
    disk_space = DiskSpace(directory, 1 << 30)
    source = web.Source(url, addresses.ImageSources('127.0.0.1'))
    artifacts.download(source, path, lambda: None, disk_space,
                       artifacts.Pace(Settings(image_timeout=60)))
    artifacts.decompress(path, lambda: None, disk_space)
    artifacts.verify(
        path, {'md5': artifact['metadata']['md5sum'],
               'sha256': artifact['metadata']['sha256']}, lambda: None)
    return pathlib.Path(path)
