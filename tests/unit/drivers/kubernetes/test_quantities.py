"""Amounts, and what pods need."""

import decimal

from hypothesis import given
from hypothesis import strategies as st
import pytest

from zuul_nodes.drivers.kubernetes.quantities import getNeeds, parse


@pytest.mark.parametrize(('text', 'amount'), [
    ('2', 2), (2, 2), (0.5, '0.5'), ('500m', '0.5'), ('4Gi', 4 * 1024 ** 3),
    ('1k', 1000), ('1E', 10 ** 18), ('12e3', 12000), ('1E3', 1000),
    ('.5', '0.5'), ('100n', '1e-7'), ('-1', -1)])
def test_amounts(text, amount):
    assert parse(text) == decimal.Decimal(amount)


@pytest.mark.parametrize('text', ['', 'Gi', '1 Gi', '1GB', '1e', None, True,
                                  '1e99999', 'NaN', 'inf'])
def test_what_is_no_amount(text):
    with pytest.raises(ValueError, match='is not an amount'):
        parse(text)


@given(st.text())
def test_whatever_is_written(text):
    try:
        parse(text)
    except ValueError as error:
        assert text in str(error)


def makeContainer(**resources):
    return {'name': 'node', 'resources': resources}


def test_needs_of_containers_that_run_together():
    needs = getNeeds({'containers': [
        makeContainer(requests={'cpu': '500m', 'memory': '1Gi',
                                'nvidia.com/gpu': 1, 'example.com/dongle': 2}),
        makeContainer(requests={'cpu': 1, 'ephemeral-storage': '1Gi'})]})
    assert needs == {'cores': 1.5, 'ram': 1024, 'storage': 1024, 'gpu': 1,
                     'example.com/dongle': 2}


def test_what_has_only_a_limit_requests_that():
    assert getNeeds({'containers': [makeContainer(
        limits={'cpu': 2, 'memory': '1Gi'}, requests={'cpu': 1})]}) == {
            'cores': 1, 'ram': 1024}


def test_containers_that_run_before():
    assert getNeeds({
        'containers': [makeContainer(requests={'cpu': 1, 'memory': '2Gi'})],
        'initContainers': [
            makeContainer(requests={'cpu': 4}),
            makeContainer(requests={'memory': '1Gi'})]}) == {
                'cores': 4, 'ram': 2048}


def test_nothing_is_said():
    assert getNeeds({'containers': [{'name': 'node'}]}) == {}
