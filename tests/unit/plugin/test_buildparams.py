"""Drivers tell jobs what they have to know."""

import types

import pytest

from zuul_nodes.plugin import buildparams
from zuul_nodes.plugin.extensions import Extensions

JOB = types.SimpleNamespace(name='job')


class Driver:
    name = 'driver'

    def __init__(self, answer):
        self.answer = answer

    def getJobVariables(self, job, item):
        assert (job, item) == (JOB, 'item')
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def construct(uuid, connections, job, item, pipeline, dependent_changes=(),
              merger_items=(), redact_secrets_and_keys=True):
    return {'zuul': {'job': job.name, 'build': uuid},
            'items': merger_items, 'redacted': redact_secrets_and_keys}


def getParams(*drivers):
    connections = types.SimpleNamespace(
        drivers=dict(enumerate((*drivers, object()))))
    return buildparams.wrapConstructBuildParams(
        construct, Extensions({}, {}, {}))(
            'uuid', connections, JOB, 'item', 'pipeline', (), ['merge'],
            redact_secrets_and_keys=False)


def test_several_drivers():
    params = getParams(Driver({'rack': 1}), Driver({}), Driver({'shelf': 2}))
    assert params == {
        'zuul': {'job': 'job', 'build': 'uuid', 'rack': 1, 'shelf': 2},
        'items': ['merge'], 'redacted': False}


def test_zuuls_own_variables_stay():
    params = getParams(Driver({'job': 'mine', 'rack': 1}))
    assert params['zuul'] == {'job': 'job', 'build': 'uuid', 'rack': 1}


@pytest.mark.parametrize('answer', [RuntimeError('no idea'), None, 3])
def test_driver_in_trouble(answer, caplog):
    params = getParams(Driver(answer), Driver({'rack': 1}))
    assert params['zuul'] == {'job': 'job', 'build': 'uuid', 'rack': 1}
    assert 'for the job job of item' in caplog.text
