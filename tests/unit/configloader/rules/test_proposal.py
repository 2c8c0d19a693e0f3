"""A change alters no image, label or provider before it has merged."""

import pytest

from tests.unit.configloader.tenant import Tenant, getErrors
from tests.unit.configloader.tenantfiles import (
    BASE_FILE,
    FILES,
    JOB,
    JOBS,
    JOBS_FILE,
    LABELS,
    LABELS_FILE,
    NEW_LABEL,
    PROVIDER,
    PROVIDER_FILE,
    SECTION,
)
from zuul_nodes.configloader.rules.proposal import Proposal

pytestmark = pytest.mark.usefixtures('seams')

KINDS = ('images', 'flavors', 'labels', 'sections', 'providers')


@pytest.fixture
def tenant(seams):
    tenant = Tenant(FILES)
    assert tenant.errors == []
    return tenant


def check(tenant, layout, *but):
    """Check that the layout has what the tenant's has."""
    for kind in KINDS:
        if kind not in but:
            assert getattr(layout, kind) == getattr(tenant.layout, kind)


@pytest.mark.parametrize('files', [
    # Of the same length: line numbers stay.
    {JOBS_FILE: JOB.replace('testjob', 'another') % 'debian'},
    # Stanzas that move.
    {LABELS_FILE: '# Hello.\n' + LABELS},
    {LABELS_FILE: None, PROVIDER_FILE: SECTION + LABELS + PROVIDER},
])
def test_change_of_other_things_has_no_warning(tenant, files):
    layout, warnings = tenant.propose(files)
    assert warnings == getErrors(layout) == []
    check(tenant, layout)


def test_jobs_are_speculative(tenant):
    layout, _ = tenant.propose({JOBS_FILE: JOB % 'debian' + '''
- job: {name: another}
'''})
    assert 'another' in layout.jobs
    assert 'another' not in tenant.layout.jobs


@pytest.mark.parametrize('files, but, expected', [
    ({LABELS_FILE: LABELS + NEW_LABEL}, '',
     'The label "sid" (project example.com/nodes, branch main, file '
     'zuul.d/labels.yaml, line 11) does not exist until this change has '
     'merged.'),
    ({LABELS_FILE: LABELS.replace('Stable', 'Old')}, '',
     'The label "debian" (project example.com/nodes, branch main, file '
     'zuul.d/labels.yaml, line 5) changes when this change has merged. '
     'Until then, jobs use its current version.'),
    ({LABELS_FILE: LABELS.replace('cloud', 'zuul'),
      PROVIDER_FILE: (SECTION + PROVIDER)}, '', 'The image "debian" '),
    ({LABELS_FILE: LABELS.replace('name: small', 'name: small, '
                                  'description: x')}, '',
     'The flavor "small" '),
    ({PROVIDER_FILE: (SECTION + PROVIDER).replace('192.0.2.1', '192.0.2.3')},
     '', 'The section "desk" '),
    ({PROVIDER_FILE: SECTION + PROVIDER + '    launch-timeout: 60\n'}, '',
     'The provider "desk" '),
    # So that the job that builds it can be tried.
    ({LABELS_FILE: LABELS + '\n- image: {name: sid, type: zuul}\n'},
     'images', 'The image "sid" '),
])
def test_warning_names_a_changed_object(tenant, files, but, expected):
    layout, warnings = tenant.propose(files)
    assert getErrors(layout) == []
    warning, = warnings
    assert warning.startswith(expected)
    check(tenant, layout, but)
    assert layout.images.items() >= tenant.layout.images.items()
    assert not hasattr(layout, 'proposed')


def test_warnings_name_removed_objects(tenant):
    layout, warnings = tenant.propose({
        LABELS_FILE: None, PROVIDER_FILE: None, JOBS_FILE: None})
    assert getErrors(layout) == []
    assert warnings[2] == (
        'The label "debian" (project example.com/nodes, branch main, file '
        'zuul.d/labels.yaml, line 5) is removed when this change has merged. '
        'Until then, jobs use it.')
    assert len(warnings) == 5
    check(tenant, layout)


def test_changes_ahead_are_not_named(tenant):
    ahead = {LABELS_FILE: LABELS + NEW_LABEL}
    layout, warnings = tenant.propose(
        {JOBS_FILE: JOB.replace('testjob', 'another') % 'debian'}, ahead)
    assert warnings == getErrors(layout) == []
    check(tenant, layout)


def test_change_of_config_project_is_warned_of_once():
    tenant = Tenant({**FILES, BASE_FILE: JOBS + LABELS, LABELS_FILE: ''})
    files = {BASE_FILE: JOBS + LABELS + NEW_LABEL}
    layout, warnings = tenant.propose(files, trusted=True)
    assert getErrors(layout) == []
    warning, = warnings
    assert 'file zuul.yaml' in warning
    # The same change, with changes of other projects ahead.
    layout, warnings = tenant.propose(files)
    assert warnings == getErrors(layout) == []
    check(tenant, layout)


def test_warning_is_not_repeated(tenant):
    files = {LABELS_FILE: LABELS + NEW_LABEL}
    _, warnings = tenant.propose(files)
    layout, _ = tenant.propose(files)
    item = type('Item', (), {'changes': [], 'current_build_set': type(
        'BuildSet', (), {'warning_messages': warnings})})
    Proposal().warn(item, layout)
    assert len(warnings) == 1


def test_number_of_warnings_is_limited(tenant):
    labels = ''.join(NEW_LABEL.replace('sid', f'sid{number}')
                     for number in range(200))
    _, warnings = tenant.propose({LABELS_FILE: LABELS + labels})
    assert len(warnings) == 31
    assert warnings[-1] == '170 more objects must merge first.'


@pytest.mark.parametrize('files, expected', [
    ({LABELS_FILE: LABELS.replace('image: debian', 'image: fedora')},
     'the image "fedora"'),
    ({PROVIDER_FILE: SECTION + PROVIDER.replace('[debian]', '[debain]')},
     'the label "debain"'),
    ({PROVIDER_FILE: SECTION + PROVIDER + '    boot-speed: 3\n'},
     'boot-speed'),
    # Zuul itself drops these two.
    ({PROVIDER_FILE: SECTION + PROVIDER.replace('labels:', 'lables:')},
     'lables'),
    ({PROVIDER_FILE: SECTION.replace('name: desk', 'name: []') + PROVIDER},
     'expected str'),
    # What it comes to when it has merged.
    ({LABELS_FILE: LABELS, PROVIDER_FILE: SECTION
      + PROVIDER.replace('[debian]', '[]')},
     'no provider of this tenant offers it'),
])
def test_errors_of_a_change_are_found(tenant, files, expected):
    layout, _ = tenant.propose(files)
    errors = getErrors(layout)
    assert any(expected in error for error in errors), errors
    assert len(set(errors)) == len(errors)
    check(tenant, layout)


def test_object_in_error_is_not_named_as_removed(tenant):
    layout, warnings = tenant.propose({
        LABELS_FILE: LABELS.replace('image: debian', 'image: []')})
    assert getErrors(layout)
    assert warnings == []


NEW_ON_PROVIDER = {
    LABELS_FILE: LABELS + NEW_LABEL,
    PROVIDER_FILE: SECTION + PROVIDER.replace('[debian]', '[debian, sid]'),
}


def test_warning_names_job_that_needs_a_new_label(tenant):
    layout, warnings = tenant.propose(
        {**NEW_ON_PROVIDER, JOBS_FILE: JOB % 'sid'})
    # It is right when it has merged.
    assert getErrors(layout) == []
    assert warnings[0] == (
        'The job "testjob" (project example.com/nodes, branch main, file '
        'zuul.d/jobs.yaml, line 2) needs the label "sid" (project '
        'example.com/nodes, branch main, file zuul.d/labels.yaml, line 11), '
        'which must merge first: until then no provider of this tenant '
        'offers this label, and requests for it fail.')
    assert len(warnings) == 3
    check(tenant, layout)


def test_warning_names_nodeset_that_needs_a_label_ahead(tenant):
    layout, warnings = tenant.propose({JOBS_FILE: '''
        - nodeset:
            name: pair
            nodes: [{name: a, label: debian}, {name: b, label: sid}]
    '''}, NEW_ON_PROVIDER)
    assert getErrors(layout) == []
    warning, = warnings
    assert warning.startswith('The nodeset "pair" ')


def test_warning_names_nodepool_when_it_is_used():
    tenant = Tenant(FILES, use_nodepool=True)
    layout, warnings = tenant.propose(
        {**NEW_ON_PROVIDER, JOBS_FILE: JOB % 'sid'})
    assert getErrors(layout) == []
    assert warnings[0].endswith('and Zuul requests such nodes from Nodepool.')


def test_error_in_the_plugin_is_a_warning(tenant, monkeypatch):
    monkeypatch.setattr(Proposal, 'warn', lambda self, item, layout: 1 / 0)
    layout, _ = tenant.propose({LABELS_FILE: LABELS + NEW_LABEL})
    error, = layout.loading_errors.errors
    assert 'ZeroDivisionError' in error.error
    assert error.severity == 'warning'
    check(tenant, layout)


def test_errors_that_were_there_before_are_no_errors_of_a_change():
    """A change elsewhere is not to blame, though the text gets another."""
    broken = PROVIDER.replace('name: desk', 'name: broken').replace(
        'labels: [debian]', 'labels: [unheard-of]')
    tenant = Tenant(FILES | {BASE_FILE: JOBS + broken})
    error, = tenant.layout.loading_errors.errors
    assert 'There are: "debian"' in error.error
    files = {LABELS_FILE: LABELS + NEW_LABEL}
    layout, _ = tenant.propose(files)
    assert layout.loading_errors.error_keys == {error.key}
    # Another kind of error is one.
    layout, _ = tenant.propose(
        files | {PROVIDER_FILE: SECTION.replace('name: desk', 'name: table')
                 + PROVIDER.replace('section: desk', 'section: table')})
    other, = layout.loading_errors.errors
    assert other.name == 'Section Error'
