"""The table of what services say."""

import pytest

from zuul_nodes.drivers import (
    CapacityError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.openstack.cloud import failures

KINDS = {CapacityError, QuotaError, TemporaryError, PermanentError,
         failures.NotFoundError}
EXAMPLES = [(row, example) for row in failures.SAYINGS
            for example in row.examples]


@pytest.mark.parametrize(
    ('row', 'example'), EXAMPLES, ids=[text for _, text in EXAMPLES])
def test_example_is_found_by_its_own_row(row, example):
    assert failures.find(example) is row


def test_every_kind_is_in_the_table():
    assert {row.kind for row in failures.SAYINGS} == KINDS
    assert failures.ExistsError in failures.STATUSES.values()


@pytest.mark.parametrize('row', failures.SAYINGS, ids=lambda row: row.part)
def test_row_has_a_source_and_examples(row):
    assert row.source.startswith('https://')
    assert row.examples


@pytest.mark.parametrize(('status', 'message', 'kind'), [
    (409, "Quota exceeded for resources: ['port'].", QuotaError),
    (413, 'This request was rate limited.', TemporaryError),
    (403, 'Too many requests', TemporaryError),
    (500, 'No valid host was found.', TemporaryError),
    (404, 'Instance 1 has gone', failures.NotFoundError),
    (409, 'Instance 1 is being built', failures.ExistsError),
    (0, 'Something else', None)])
def test_answer(status, message, kind):
    assert failures.getKindOfAnswer(status, message) is kind
