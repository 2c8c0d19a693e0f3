"""Names that fit in the labels of Kubernetes."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st
import pytest

from tests.emulators.kubernetes import admission
from tests.fixtures.examples import countExamples
from zuul_nodes.drivers.kubernetes.metadata import (
    fit,
    getTags,
    isKey,
    makeMetadata,
)

TEXTS = st.text(max_size=250) | st.text(
    alphabet='aA-_. /é', min_size=60, max_size=250)
KEYS = st.sampled_from(['job', 'example.com/job']) | st.from_regex(
    '[A-Za-z0-9]([-A-Za-z0-9_.]{0,3}[A-Za-z0-9])?', fullmatch=True)
# As the API server has it.
LABEL = re.compile('(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')


@given(TEXTS)
@example('-' * 250)
@example('a' * 250)
@example('.' + 'a' * 62)
@example('\ud800')
@example('a\n')
@settings(max_examples=countExamples(4000))
def test_any_text_fits_in_a_label_and_stays_as_it_is_if_it_can(text):
    fitted = fit(text)
    assert LABEL.fullmatch(fitted) and len(fitted) <= 63
    assert (fitted == text) is bool(LABEL.fullmatch(text) and len(text) <= 63)
    # Always the same, also for what has been fitted already.
    assert fit(text) == fitted == fit(fitted)


@given(st.lists(TEXTS, min_size=2, max_size=2, unique=True))
@example(['a' * 249 + 'b', 'a' * 250])
@example(['a b', 'a/b'])
@settings(max_examples=countExamples(2000))
def test_different_texts_stay_different(texts):
    assert len(set(map(fit, texts))) == 2


@given(st.dictionaries(KEYS, TEXTS, max_size=5))
@settings(max_examples=countExamples(1000))
def test_the_api_server_takes_whatever_a_node_is_tagged_with(tags):
    metadata = makeMetadata(tags)
    admission.check('namespaces', {'metadata': {'name': 'a', **metadata}})
    for key, value in tags.items():
        assert value in (metadata['labels'][key],
                         metadata['annotations'].get(key))


def test_annotations_do_not_change_whose_a_thing_is():
    metadata = makeMetadata({'zuul_node_uuid': '1'}, {'zuul_node_uuid': '2'})
    assert getTags({'metadata': metadata})['zuul_node_uuid'] == '1'


@pytest.mark.parametrize('text', ['a', 'a/b', 'a.b/c', 'A/b', 'a..b/c', '.a/b',
                                  'a' * 64, 'a/' + 'b' * 64, '', 'a/', 'ä',
                                  'a.' * 126 + 'a/b', 'a.' * 127 + 'a/b'])
def test_keys_are_those_that_the_api_server_takes(text):
    assert isKey(text) is bool(admission.KEY.fullmatch(text))
