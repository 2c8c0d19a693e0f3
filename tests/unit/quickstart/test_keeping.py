"""Services that end while the quickstart is kept running."""

import os

import pytest

from zuul_nodes.quickstart import services
from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.services import Services


class Enough(Exception):
    pass


@pytest.fixture
def started(tmp_path):
    started = Services(tmp_path, dict(os.environ))
    yield started
    started.stop(None, print)


def test_a_service_that_ends_is_started_again(started, tmp_path):
    first, up = tmp_path / 'first', tmp_path / 'up'
    thing = started.start('thing', ['sh', '-c', (
        f'mkdir {first} && exit 5; touch {up}; exec sleep 1000')])
    # Ends once the other one runs again.
    started.start('other', ['sh', '-c', (
        f'until test -e {up}; do sleep 0.1; done; exit 7')])
    notes = []

    def note(text):
        notes.append(text)
        if 'other' in text:
            raise Enough
    with pytest.raises(Enough):
        started.keepRunning(note)
    assert notes == ['thing ended with status 5; it is started again',
                     'other ended with status 7; it is started again']
    assert thing.alive


def test_a_service_that_ends_again_and_again_is_a_failure(started):
    started.start('thing', ['sh', '-c', 'echo broken; exit 3'])
    notes = []
    with pytest.raises(Failure, match='thing ended with status 3') as info:
        started.keepRunning(notes.append)
    assert len(notes) == services.RESTARTS
    assert info.value.last_lines == ['broken'] * (services.RESTARTS + 1)
