"""A table of three tenants of one image: who builds, validates, deletes and
uses it, and what becomes of that.

Tenants are written as in :mod:`tests.fixtures.imagetenants`.
"""

import pytest

from tests.fixtures.imagetenants import (
    addArtifact,
    addUpload,
    getAsked,
    passOn,
    writeTenants,
)
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.images import KEY

# What happens, the tenants at first and then, and which are concerned.  The
# build that there is is one of a, in the format raw; providers at "other" want
# vhd where it is about formats.
TABLE = {
    'builds': [
        ('formats', 'a rack vd, b rack b, c other -', '', ['b'], ['b']),
        ('endpoints', 'a rack -, b - b, c other -', '', ['b'], ['b']),
        ('pipelines', 'a rack vd, b rack -, c other b', '', ['c'], ['c']),
        ('moved', 'a rack b, b rack -, c other -',
         'a rack vd, b rack -, c other b', ['a'], ['c']),
        ('renamed', 'a rack b, b - -, c - vd', 'a other b', ['a'], ['a']),
        ('removed', 'a rack b, b rack -, c other b', 'a gone', ['a'], ['c']),
    ],
    'validates': [
        ('formats', 'a rack bv, b rack v, c other v', '', ['a'], ['a']),
        ('endpoints', 'a other bv, b rack v, c other v', '', ['b'], ['b']),
        ('pipelines', 'a rack b, b rack bd, c rack v', '', ['c'], ['c']),
        ('moved', 'a rack bv, b rack b, c other v',
         'a rack b, b rack bv', ['a'], ['b']),
        ('renamed', 'a rack bv, b rack v, c - v', 'a other bv', ['a'], ['b']),
        ('removed', 'a rack bv, b other v, c rack v', 'a gone', ['a'],
         ['c']),
    ],
    'deletes': [
        ('formats', 'a rack d, b rack d, c other d', '', ['a'], ['a']),
        ('endpoints', 'a - bv, b other d, c rack b', '', ['b'], ['b']),
        ('pipelines', 'a rack bv, b rack bv, c - d', '', ['c'], ['c']),
        ('moved', 'a rack d, b rack -, c other -',
         'a rack bv, b rack -, c other d', ['a'], ['c']),
        ('renamed', 'a rack d, b - -, c rack bv', 'a other d', ['a'], ['a']),
        ('removed', 'a rack d, b rack -, c rack d', 'a gone', ['a'], ['c']),
    ],
    # Uploads come to be for them, besides that of a at "rack".
    'uses': [
        ('formats', 'a rack -, b rack -, c other -', '', [], []),
        ('endpoints', 'a rack -, b other -, c rack -', '', ['other'],
         ['other']),
        ('pipelines', 'a rack bvd, b other bvd, c - bvd', '', ['other'],
         ['other']),
        ('moved', 'a rack -, b rack -, c - -', 'a rack -, b other -', [],
         ['other']),
        ('renamed', 'a rack -, b rack -, c - -', 'c other -', [], ['other']),
        ('removed', 'a rack -, b - -, c other -', 'c gone', ['other'],
         ['other']),
    ],
}
ROWS = [pytest.param(role, *row, id=f'{role}-{row[0]}')
        for role, rows in TABLE.items() for row in rows]


def ask(launcher, role, asked):
    """
    :param list asked: what is expected.
    :return: what comes of a look at the images.
    """
    if role == 'uses':
        launcher.distribution.reconcile()
        return waitFor(lambda: getNew(launcher) == asked) and asked
    if role == 'builds':
        launcher.images.builds.reconcile()
    elif role == 'validates':
        launcher.images.validation.reconcile(launcher.getUploads())
    else:
        launcher.queue.add(KEY)
        waitFor(lambda: getAsked(launcher, 'image-delete'))
    return getAsked(launcher, f'image-{role.removesuffix("s")}')


def getNew(launcher):
    """:return: the endpoints that uploads are for, besides the first."""
    return sorted(upload.endpoint_name.partition('/')[0]
                  for upload in launcher.getUploads()
                  if 'rack' not in upload.endpoint_name)


def wantVhd(launcher):
    for providers in launcher.tenant_providers.values():
        for provider in providers:
            if provider.name == 'other':
                provider.images['debian'].format = 'vhd'


def test_the_table_has_all():
    circumstances = {row[0] for row in TABLE['uses']}
    assert {role: {row[0] for row in rows} for role, rows in TABLE.items()
            } == dict.fromkeys(
                ('builds', 'validates', 'deletes', 'uses'), circumstances)
    assert len(ROWS) == 24


@pytest.mark.parametrize(
    'role, circumstance, before, then, asked, asked_then', ROWS)
def test_three_tenants(image_launcher, role, circumstance, before, then,
                       asked, asked_then):
    launcher = image_launcher
    launcher.setLayout(None)
    writeTenants(launcher, before)
    if circumstance == 'formats':
        wantVhd(launcher)
    if role == 'deletes':
        launcher.queue.start()
        addArtifact(launcher, _state='deleting')
    elif role != 'builds' or circumstance == 'formats':
        tenant, place = next(
            (name, provider.name)
            for name, providers in launcher.tenant_providers.items()
            for provider in providers if provider.name == 'rack')
        addUpload(launcher, tenant, place, validated=role == 'uses' or None)
    assert ask(launcher, role, asked) == asked
    if not then:
        return
    writeTenants(launcher, then)
    if asked != asked_then and role != 'uses':
        # Zuul drops what no pipeline takes.  As long as a tenant has one, the
        # launcher would take that for the end of the deletion.
        passOn(launcher, *asked)
    for _ in range(2):
        ask(launcher, role, asked_then)
    assert ask(launcher, role, asked_then) == asked_then
