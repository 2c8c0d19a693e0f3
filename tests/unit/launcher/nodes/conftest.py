"""What several tests of this room have."""

import pytest

from tests.fixtures.executor import Executor


@pytest.fixture
def executor(zuul_conf, steps):
    executor = Executor(zuul_conf, steps)
    yield executor
    executor.end()
