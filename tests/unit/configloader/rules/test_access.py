"""With "use-nodepool: false", unknown labels are errors, and labels that no
provider offers are warnings."""

import pytest

from tests.unit.configloader.tenant import Tenant, getErrors
from tests.unit.configloader.tenantfiles import (
    BASE_FILE,
    FILES,
    JOB,
    JOBS_FILE,
    LABELS,
    LABELS_FILE,
    NEW_LABEL,
    PROVIDER,
    PROVIDER_FILE,
    SECTION,
)

pytestmark = pytest.mark.usefixtures('seams')


def load(changed, **kwargs):
    return Tenant({**FILES, **changed}, **kwargs).errors


NOT_OFFERED = (
    'The label "sid" (project example.com/nodes, branch main, file '
    'zuul.d/labels.yaml, line 11) exists, but no provider of this tenant '
    'offers it. ')
ONE_MORE = {LABELS_FILE: LABELS + NEW_LABEL, JOBS_FILE: JOB % 'sid'}
NO_PROVIDER = {**ONE_MORE, PROVIDER_FILE: ''}
ALIAS = {**ONE_MORE, LABELS_FILE: LABELS.replace(
    'description: Stable.', 'aliases: [sid]') + NEW_LABEL}


@pytest.mark.parametrize('changed, expected', [
    ({JOBS_FILE: JOB % 'debain'},
     'The label "debain" was not found. Did you mean "debian"?'),
    ({JOBS_FILE: JOB % 'x'},
     'The label "x" was not found. There are: "debian"'),
    (ONE_MORE, NOT_OFFERED + 'Attach it to one of: "desk"'),
    (NO_PROVIDER,
     NOT_OFFERED + 'Add a provider that offers it: this tenant has none'),
    # The provider for a request is one that has the label itself.
    (ALIAS, NOT_OFFERED + 'Attach it to one of: "desk"'),
])
def test_label_that_is_unknown_or_not_offered_is_reported(changed, expected):
    assert expected in load(changed)
    assert load(changed, use_nodepool=True) == []


@pytest.mark.parametrize('jobs', [
    '''
    - nodeset:
        name: any
        alternatives:
          - nodes: {name: node, label: debian}
          - nodes: {name: node, label: sid}
    ''', '''
    - job: {name: testjob}
    - project:
        check:
          jobs:
            - testjob:
                nodeset: {nodes: {name: node, label: sid}}
    '''])
def test_label_that_is_not_offered_is_reported_in_any_nodeset(jobs):
    errors = load({**ONE_MORE, JOBS_FILE: jobs})
    assert errors == [NOT_OFFERED + 'Attach it to one of: "desk"']


SHARED = '''
- nodeset: {name: shared, nodes: {name: node, label: sid}}
'''
ALTERNATIVES = '''
- nodeset:
    name: shared
    alternatives:
      - nodes: {name: node, label: sid}
      - nodes: {name: node, label: debian}
'''
USERS = '''
- job: {name: testjob, nodeset: shared}
- job: {name: other, nodeset: {nodes: {name: node, label: debian}}}
'''


@pytest.mark.parametrize('changed', [
    {BASE_FILE: FILES[BASE_FILE] + SHARED, JOBS_FILE: USERS},
    {BASE_FILE: FILES[BASE_FILE] + SHARED.replace('label: sid', 'label: lost')
     + '- label: {name: lost}', JOBS_FILE: USERS},
    {JOBS_FILE: SHARED + USERS},
    {JOBS_FILE: ALTERNATIVES + USERS},
    {JOBS_FILE: JOB % 'sid' + USERS.replace('testjob', 'third').replace(
        'nodeset: shared', 'parent: base')},
    {BASE_FILE: FILES[BASE_FILE] + JOB % 'sid', JOBS_FILE: USERS.replace(
        'testjob', 'third').replace('nodeset: shared', 'parent: base')},
], ids=['shared', 'shared label', 'own', 'alternatives', 'anonymous',
        'anonymous and shared'])
def test_a_label_that_is_not_offered_is_a_warning(changed):
    tenant = Tenant({**FILES, **ONE_MORE, **changed})
    error, = tenant.layout.loading_errors.errors
    assert error.severity == 'warning'
    assert error.name == 'Label Not Offered'
    assert 'exists, but no provider of this tenant offers it' in error.error
    assert 'other' in tenant.layout.jobs


def test_a_label_that_is_not_offered_hides_no_unknown_one():
    # By name, the unknown one would come last.
    error, = Tenant({**FILES, **ONE_MORE, JOBS_FILE: SHARED.replace(
        '{name: node, label: sid}',
        '[{name: node, label: sid}, {name: more, label: unknown}]')
    }).layout.loading_errors.errors
    assert error.severity == 'error'
    assert 'The label "unknown" was not found' in error.error


@pytest.mark.parametrize('name', ['jobs.yaml', 'more.yaml'])
def test_a_change_with_a_label_that_is_not_offered_has_a_comment(name):
    """Zuul reports the warnings of a layout only beside an error."""
    tenant = Tenant({**FILES, LABELS_FILE: LABELS + NEW_LABEL})
    path = (*JOBS_FILE[:2], f'zuul.d/{name}')
    layout, warnings = tenant.propose({path: SHARED})
    assert all(error.severity == 'warning'
               for error in layout.loading_errors.errors)
    warning, = warnings
    assert warning == (
        NOT_OFFERED + 'Attach it to one of: "desk" (needed in project '
        f'example.com/nodes, branch main, file zuul.d/{name}, line 2).')


def test_a_change_has_no_comment_about_files_of_others():
    tenant = Tenant({**FILES, **ONE_MORE, JOBS_FILE: SHARED})
    _, warnings = tenant.propose({
        (*JOBS_FILE[:2], 'zuul.d/more.yaml'): USERS})
    assert warnings == []


def test_provider_in_error_hides_labels_that_are_not_offered():
    # Where a provider is an error, labels that it may offer are none.
    changed = {**ONE_MORE, PROVIDER_FILE: SECTION
               + PROVIDER.replace('[debian]', '[debian, sod]')}
    error, = load(changed)
    assert 'refers to the label "sod"' in error
    # But one that does not exist is unknown all the same.
    _, error = load({**changed, JOBS_FILE: JOB % 'x'})
    assert error == 'The label "x" was not found. There are none.'


def test_errors_that_were_there_before_keep_their_key():
    # Else Zuul would blame a change for the errors of others.
    tenant = Tenant({**FILES, **ONE_MORE, BASE_FILE: FILES[BASE_FILE]
                     + JOB.replace('testjob', 'other') % 'x'})
    assert len(tenant.errors) == 2
    layout, _ = tenant.propose({
        LABELS_FILE: '# Hello.\n' + LABELS + NEW_LABEL
        + NEW_LABEL.replace('sid', 'xx'),
        PROVIDER_FILE: SECTION + PROVIDER.replace('[debian]', '[debian, xx]')
        + PROVIDER.replace('name: desk', 'name: another')})
    assert len(getErrors(layout)) == 2
    assert {error.key for error in layout.loading_errors.errors} == {
        error.key for error in tenant.layout.loading_errors.errors}


def test_other_objects_are_loaded_beside_unknown_label():
    # The tenant keeps what it has, whatever is wrong about it.
    tenant = Tenant({**FILES, **ONE_MORE})
    assert tenant.layout.jobs.keys() >= {'base', 'testjob'}
    assert tenant.layout.providers.keys() == {'desk'}
