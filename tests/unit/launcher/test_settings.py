"""What zuul.conf may say in the section of launchers."""

import configparser
import dataclasses
import math
import pathlib

import pytest

from zuul_nodes.exceptions import UserError
from zuul_nodes.launcher import settings
from zuul_nodes.launcher.settings import Settings, getOptions
from zuul_nodes.reference import formatOptions

ROOT = pathlib.Path(__file__).parents[3]
NUMBERS = [field for field in dataclasses.fields(Settings)
           if field.type in (int, float)]
SECONDS = 'a number of seconds, at least 0.001'
THREADS = 'a whole number of threads, at least 1, at most 1000'


def read(**options):
    config = configparser.ConfigParser()
    config.read_dict({'launcher': options})
    return Settings.read(config)


def test_without_a_section_there_are_defaults():
    found = Settings.read(configparser.ConfigParser())
    assert (found.call_timeout, found.endpoint_workers) == (600.0, 8)
    assert found.connection_filter == ()
    assert found.image_sources.has_public


@pytest.mark.parametrize('option, text, value', [
    ('call_timeout', '30', 30.0), ('call_timeout', ' 0.5 ', 0.5),
    ('endpoint_workers', '2', 2), ('require_image_checksums', 'yes', True),
    ('require_image_checksums', 'FALSE', False),
    ('connection_filter', 'west, null,', ('west', 'null')),
    ('temp_dir', '/var/tmp', '/var/tmp')])
def test_a_value_is_read(option, text, value):
    assert getattr(read(**{option: text}), option) == value


@pytest.mark.parametrize('text, found', [
    ('3600', [3600, 3600]), ('0', [None, None]), ('60, one = 5', [5, 60]),
    ('one=0, 60', [None, 60]), ('one=5', [5, None]), ('', [None, None])])
def test_time_out_of_requests_may_differ_by_tenant(text, found):
    timeouts = read(request_timeout=text).request_timeout
    assert [timeouts.get(name) for name in ('one', 'two')] == found


@pytest.mark.parametrize('text, one, two', [
    ('', {}, {}),
    ('instances:5', {'instances': 5}, {'instances': 5}),
    ('one=instances:2, instances:5, cores: 8, one = ram:0.5',
     {'instances': 2, 'cores': 8, 'ram': 0.5}, {'instances': 5, 'cores': 8}),
    ('a=b:c=instances:1', {}, {})])
def test_limits_may_differ_by_tenant(text, one, two):
    limits = read(tenant_limits=text).tenant_limits
    assert [limits.get(name) for name in ('one', 'two')] == [one, two]


def test_a_path_may_begin_with_the_home_of_the_user(monkeypatch):
    monkeypatch.setenv('HOME', '/home/zuul')
    assert read(temp_dir='~/images').temp_dir == '/home/zuul/images'


@pytest.mark.parametrize('option, text, right', [
    ('call_timeout', 'soon', SECONDS), ('call_timeout', 'inf', SECONDS),
    ('call_timeout', 'nan', SECONDS), ('call_timeout', '-1', SECONDS),
    ('endpoint_workers', '0', THREADS), ('endpoint_workers', '1.5', THREADS),
    ('endpoint_workers', '1001', THREADS),
    ('require_image_checksums', 'maybe', 'true or false'),
    *((('request_timeout', text, 'a number of seconds, and TENANT=SECONDS for '
        'tenants with another one, separated by commas'))
      for text in ('soon', 'one=', '-1', 'one=inf')),
    *(('tenant_limits', text, 'RESOURCE:NUMBER, and TENANT=RESOURCE:NUMBER '
       'for tenants with another limit, separated by commas')
      for text in ('5', 'one=5', 'instances:-1', 'cores:inf', 'one=:3')),
    ('temp_dir', '', 'a path')])
def test_a_value_that_is_not_right_is_told_with_what_would_be(
        option, text, right):
    with pytest.raises(UserError) as caught:
        read(**{option: text})
    shown = caught.value.args[0]
    assert shown.startswith(f'zuul.conf: "{option}" in [launcher] is "')
    assert shown.endswith(f'; it must be {right}')


def test_an_image_source_that_is_none_is_told():
    with pytest.raises(UserError, match='"image_sources" in the section'):
        read(image_sources='ftp://example.com/')


@pytest.mark.parametrize('field', NUMBERS, ids=lambda field: field.name)
def test_a_number_has_a_unit_limits_and_a_default_within_them(field):
    least, most = field.metadata['least'], field.metadata['most']
    assert field.metadata['unit']
    assert least <= field.default <= (math.inf if most is None else most)
    with pytest.raises(UserError, match=f'"{field.name}"'):
        Settings(**{field.name: least - 1})


def test_every_setting_says_what_it_is():
    for field in dataclasses.fields(Settings):
        assert field.metadata['text'].strip().endswith('.'), field.name


def test_settings_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().call_timeout = 1


def test_the_documentation_has_all_options_and_no_internal_settings():
    """It is made of the settings, so it can't be behind them."""
    page = (ROOT / 'doc/source/reference/zuul-conf.rst').read_text()
    assert '.. zuulconf:: zuul_nodes.launcher.settings' in page
    shown = '\n'.join(formatOptions(settings))
    options = {field.name for field in getOptions()}
    assert 'call_timeout' in options
    for field in dataclasses.fields(Settings):
        described = f'\n``{field.name}`` (' in f'\n{shown}'
        assert described is (field.name in options)
        # By hand, nothing is described a second time.
        assert f'\n``{field.name}``' not in page
    assert f'``endpoint_workers`` ({THREADS}; default ``8``)' in shown
    assert '``embedded`` (true or false; default ``true``)' in shown
