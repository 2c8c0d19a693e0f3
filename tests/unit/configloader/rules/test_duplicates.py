"""A name that is given twice: an error that says where."""

import pytest

from tests.unit.configloader.tenant import Tenant, getErrors
from tests.unit.configloader.tenantfiles import (
    BASE_FILE,
    FILES,
    JOBS,
    LABELS,
    LABELS_FILE,
    PROVIDER,
    PROVIDER_FILE,
    SECTION,
)

pytestmark = pytest.mark.usefixtures('seams')

STABLE_FILE = ('nodes', 'stable', 'zuul.d/labels.yaml')


def test_name_in_two_projects_is_an_error():
    errors = Tenant({
        **FILES, BASE_FILE: JOBS + LABELS + SECTION + PROVIDER}).errors
    kinds = ['Image', 'Flavor', 'Label', 'Section', 'Provider']
    assert [error.split()[0] for error in errors] == kinds
    assert errors[2] == (
        'Label debian already defined in project config: one definition is '
        'in project example.com/config, branch main, file zuul.yaml, line 9, '
        'the other in project example.com/nodes, branch main, file '
        'zuul.d/labels.yaml, line 5. Rename or remove one of them')


def test_name_twice_in_one_file_is_an_error():
    error, = Tenant({**FILES, LABELS_FILE: LABELS
                     + '- flavor: {name: small}\n'}).errors
    assert 'line 3, the other' in error
    assert 'line 10. Rename' in error


def test_identical_definitions_in_two_branches_are_no_error():
    assert Tenant({**FILES, STABLE_FILE: '# Hello.\n' + LABELS}).errors == []


def test_different_definitions_in_two_branches_are_an_error():
    error, = Tenant({
        **FILES, STABLE_FILE: LABELS.replace('Stable', 'Old')}).errors
    assert 'branch main, file zuul.d/labels.yaml, line 5, the other' in error
    assert 'branch stable, file zuul.d/labels.yaml, line 5. In the' in error
    assert error.endswith('the definitions must be identical')


def test_duplicate_in_a_change_is_an_error():
    tenant = Tenant(FILES)
    layout, _ = tenant.propose({
        PROVIDER_FILE: SECTION + PROVIDER + PROVIDER})
    error, = getErrors(layout)
    assert error.startswith('Provider desk already defined: ')


def test_errors_that_were_there_before_keep_their_key():
    tenant = Tenant({**FILES, BASE_FILE: JOBS + LABELS})
    layout, _ = tenant.propose({BASE_FILE: JOBS + '# Hello.\n' + LABELS},
                               trusted=True)
    assert {error.key for error in layout.loading_errors.errors} == {
        error.key for error in tenant.layout.loading_errors.errors}


def test_duplicates_of_other_objects_are_zuuls_errors():
    secret = '- semaphore: {name: one}\n'
    error, = Tenant({**FILES, LABELS_FILE: LABELS + secret + secret}).errors
    assert error == 'Semaphore one already defined'
