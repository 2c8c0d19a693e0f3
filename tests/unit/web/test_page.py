"""The files of the page, and where they are."""

import pathlib
import re

import pytest

from zuul_nodes.web.files import TYPES

STATIC = pathlib.Path(__file__).parents[3] / 'zuul_nodes/web/static'
PLACES = ('/zuul-nodes/', '/zuul-nodes/t/tenant/')


@pytest.mark.parametrize('place', PLACES)
def test_each_page_has_its_files_beside_it(web, place):
    """Wherever a proxy puts it, without a build or a setting."""
    page = web.request(place)
    assert page.status == 200
    assert page.body == (STATIC / 'index.html').read_bytes()
    names = re.findall(r'(?:src|href)="([^"#:]+)"', page.body.decode())
    assert {'page.css', 'page.js'} <= set(names)
    for name in ('page.css', 'page.js', 'openapi.yaml'):
        answer = web.request(place + name)
        assert (answer.status, answer.body) == (
            200, (STATIC / name).read_bytes())
        assert answer.headers['Content-Type'] == TYPES[name]


def test_there_is_no_other_file():
    assert {path.name for path in STATIC.iterdir()} == set(TYPES)


@pytest.mark.parametrize('path, location', [
    ('/zuul-nodes', 'zuul-nodes/'), ('/zuul-nodes/t/one', './one/'),
    ('/zuul-nodes/t/a b', './a%20b/'),
    ('/zuul-nodes/t/<b>%0dX: y', './%3Cb%3E%0DX%3A%20y/')])
def test_directory_without_its_slash(web, path, location):
    answer = web.request(path)
    assert (answer.status, answer.headers['Location']) == (301, location)


@pytest.mark.parametrize('path', [
    'unknown', '../__init__.py', 't/tenant/../../files.py', 't/tenant/a/b',
    't//', '%2e%2e/files.py', 'index.html/'])
def test_all_else_does_not_exist(web, path):
    assert web.request(f'/zuul-nodes/{path}').status == 404


def test_pages_of_zuul_are_where_they_were(web):
    for path in ('/', '/t/tenant/nodes', '/nodes', '/zuul-nodesque'):
        assert b'id="root"' in web.request(path).body


@pytest.mark.parametrize('place', PLACES)
def test_browser_runs_and_asks_nothing_from_elsewhere(web, place):
    headers = web.request(place).headers
    policy = dict(each.split(' ', 1) for each in
                  headers['Content-Security-Policy'].split('; '))
    assert policy['default-src'] == "'none'"
    assert set(policy.values()) == {"'none'", "'self'"}
    assert headers['X-Content-Type-Options'] == 'nosniff'


def test_unchanged_file_is_not_sent_again(web):
    etag = web.request('/zuul-nodes/page.js').headers['ETag']
    answer = web.request('/zuul-nodes/page.js', IF_NONE_MATCH=etag)
    assert (answer.status, answer.body) == (304, b'')


def test_script_makes_no_html_of_what_it_is_told():
    """Names and reasons come from tenants and clouds."""
    script = (STATIC / 'page.js').read_text()
    for name in ('innerHTML', 'outerHTML', 'insertAdjacentHTML',
                 'document.write', 'eval(', 'Function(', 'DOMParser'):
        assert name not in script
    page = (STATIC / 'index.html').read_text()
    assert not re.search(r'<script(?! src=)|style=|\son\w+=|https?:', page)
