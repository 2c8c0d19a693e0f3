"""What several tests of this room have."""

import pytest

from tests.fixtures.executor import Executor


@pytest.fixture
def executor(zk_client, steps):
    executor = Executor(zk_client, steps)
    yield executor
    executor.end()
