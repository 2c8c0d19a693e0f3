"""The conformance kit: does a driver do what a driver has to do?

::

    from zuul_nodes.testing import DriverConformance

    class TestToy(DriverConformance):
        driver_class = ToyDriver

        @pytest.fixture
        def cloud(self, tmp_path):
            yield ToyCloud(tmp_path)

It runs the lives of nodes and images through a real launcher and a real
ZooKeeper, which it starts, has each call fail in each way, and sees that
nothing leaks.  It needs pytest, and Debian's ``libzookeeper-java``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zuul_nodes.testing.conformance import DriverConformance
    from zuul_nodes.testing.faults import KINDS

__all__ = ['KINDS', 'DriverConformance']


def __getattr__(name: str) -> Any:
    # Its launchers need none of this, least of all pytest.
    if name not in __all__:
        raise AttributeError(f'module {__name__} has no attribute {name}')
    import pytest
    # What a test asserts is to be seen when it fails.
    pytest.register_assert_rewrite(
        'zuul_nodes.testing.configuration', 'zuul_nodes.testing.images',
        'zuul_nodes.testing.nodes')
    from zuul_nodes.testing.conformance import DriverConformance
    from zuul_nodes.testing.faults import KINDS
    globals().update(DriverConformance=DriverConformance, KINDS=KINDS)
    return globals()[name]
