"""URLs, hosts and users that tenants and jobs write."""

import string
import urllib.parse

from hypothesis import example, given, settings, strategies
import pytest

from tests.fixtures.examples import countExamples
from zuul_nodes.drivers import addresses

GOOD = ['https://images.example.com/a-1.raw', 'file:///srv/a%20b.raw',
        's3://bucket/key', 'gs://bucket/key', 'HTTP://[::1]:8080/x?y=z#w',
        'local-snapshot:0123', "https://a/~!$&'()*+,;=:@"]
BAD = ['https://user:password@host/x', 'https://token@host/x', 'https://',
       'images/x.raw', 'c:\\images', 'https://host:port/x', 'https://[::1/x',
       'https://host/x\n', 'https://host/x y', 'https://host/\x00',
       'https://host/%zz', 'https://host/{{ lookup("pipe", "id") }}',
       'https://host/{%if%}', 'https://höst/x', 'https://host/' + 9000 * 'x']
# Of a shell, of SSH's configuration, and of Ansible's inventory.
PATTERNS = set(string.whitespace + '*?![]{}/"\'`;&|<>,@=')


@pytest.mark.parametrize('url', GOOD)
def test_a_url_is_taken(url):
    assert addresses.checkUrl(url) == urllib.parse.urlsplit(url)


@pytest.mark.parametrize('url', BAD)
def test_a_url_is_refused_without_being_quoted(url):
    with pytest.raises(ValueError) as info:
        addresses.checkUrl(url)
    assert 'password' not in str(info.value).replace(
        'a user or a password', '')
    assert url.removeprefix('https://') not in str(info.value) or (
        url == 'https://')


@given(strategies.text(max_size=40), strategies.text(max_size=40))
@settings(max_examples=countExamples(20000))
@example('user:password', '')
@example('', '{{x}}')
def test_no_url_has_a_template_or_a_user(host, path):
    url = f'https://{host}/{path}'
    try:
        parts = addresses.checkUrl(url)
    except ValueError:
        return
    assert set(url) <= set(string.printable) - set(string.whitespace + '{}"<>')
    assert not (parts.username or parts.password)


@given(strategies.text(max_size=60))
@settings(max_examples=countExamples(20000))
@example('-oProxyCommand=id')
@example('host\nhost')
@example('fe80::1%;id')
def test_no_host_is_an_option_or_a_pattern(text):
    if addresses.isHost(text):
        assert not text.startswith('-')
        assert not set(text) & (PATTERNS | {'$', '\\'})
    if addresses.isUser(text):
        assert not text.startswith('-')
        # Of Windows, with its domain.
        assert not set(text) & (PATTERNS - {'@'})


@pytest.mark.parametrize('host', [
    'desk', 'desk.example.com', 'desk.example.com.', '192.0.2.1',
    '2001:db8::1', 'fe80::1%eth0', 'a_b', '1', 'x' * 63])
def test_a_host_is_taken(host):
    assert addresses.isHost(host)


@pytest.mark.parametrize('host', [
    '', '-oProxyCommand=id', 'a b', 'a\n', '*', 'desk,chair', 'user@desk',
    'fe80::1%a b', 'a..b', '.a', 'x' * 254, '{{ x }}'])
def test_a_host_is_refused(host):
    assert not addresses.isHost(host)


@pytest.mark.parametrize('allowed', [None, '0.0.0.0/0'])
def test_a_machine_is_not_at_what_is_no_address(allowed):
    hosts = addresses.Hosts(allowed, 'the option')
    assert hosts.allows('machine.example.com', '203.0.113.1')
    assert not hosts.allows('machine.example.com', 'other.example.com')
