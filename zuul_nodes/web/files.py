"""Serves the files of the page."""

import hashlib
import importlib.resources
import re
import urllib.parse

import cherrypy

# What may be asked for; all else does not exist.
TYPES = {
    'index.html': 'text/html;charset=utf-8',
    'page.css': 'text/css;charset=utf-8',
    'page.js': 'text/javascript;charset=utf-8',
    'openapi.yaml': 'application/yaml;charset=utf-8'}
HEADERS = {
    # The page is made of these files alone, and asks only this zuul-web.
    'Content-Security-Policy': (
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    # A browser asks whether its copy is current.
    'Cache-Control': 'no-cache'}
# The page is the same for every tenant: its script reads the address.
PATH = re.compile(r'/(?:t/[^/]+/)?([^/]*)')
TENANT = re.compile(r'/t/([^/]+)')


class Files:
    """The page of every tenant, with its files beside it."""

    def __init__(self):
        root = importlib.resources.files('zuul_nodes.web') / 'static'
        self._files = {}
        for name, content_type in TYPES.items():
            content = (root / name).read_bytes()
            self._files[name] = (
                content_type, content,
                f'"{hashlib.sha256(content).hexdigest()[:32]}"')

    @cherrypy.expose
    def default(self, path='', **query):
        """
        :param path: that comes after ``/zuul-nodes``.
        :return: the content of a file.
        """
        if not path:
            return _redirect('zuul-nodes/')
        if tenant := TENANT.fullmatch(path):
            return _redirect(f'./{urllib.parse.quote(tenant[1], safe="")}/')
        found = PATH.fullmatch(path)
        file = found and self._files.get(found[1] or 'index.html')
        if not file:
            raise cherrypy.HTTPError(404)
        content_type, content, etag = file
        cherrypy.response.headers.update(
            HEADERS | {'Content-Type': content_type, 'ETag': etag})
        if etag in cherrypy.request.headers.get('If-None-Match', ''):
            cherrypy.response.status = 304
            return b''
        return content


def _redirect(location):
    """Redirect to an address relative to this one: behind a proxy, zuul-web
    does not know its own."""
    cherrypy.response.status = 301
    cherrypy.response.headers['Location'] = location
    return b''
