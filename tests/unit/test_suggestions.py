import time

import pytest

from zuul_nodes.suggestions import quote, suggest


@pytest.mark.parametrize(('name', 'known', 'sentence'), [
    ('debain', ['debian', 'ubuntu'], 'Did you mean "debian"?'),
    ('x', ['b', 'a'], 'There are: "a", "b"'),
    ('x', [], 'There are none.'),
    (7, {'name': 1}, 'There are: "name"')])
def test_what_was_meant_is_suggested(name, known, sentence):
    assert suggest(name, known) == sentence


def test_no_more_than_some_names_are_listed():
    sentence = suggest('x', [f'label-{number:04}' for number in range(1000)])
    assert sentence.endswith('"label-0019", and 980 more')


def test_many_long_names_are_compared_in_no_time():
    known = [f'{"l" * 200}{number}' for number in range(20_000)]
    begin = time.process_time()
    suggest('l' * 202, known)
    assert time.process_time() - begin < 1


def test_what_is_too_long_for_a_name_is_cut():
    assert quote('x' * 251) == f'"{"x" * 250}..."'
    assert quote('x' * 250) == f'"{"x" * 250}"'
