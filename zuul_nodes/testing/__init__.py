"""The conformance kit, which tests whether a driver meets its contract.

::

    from zuul_nodes.testing import DriverConformance

    class TestToy(DriverConformance):
        driver_class = ToyDriver

        @pytest.fixture
        def cloud(self, tmp_path):
            yield ToyCloud(tmp_path)

The kit runs the lifecycles of nodes and images through a real launcher and a
real ZooKeeper, which it starts.  It makes each call fail in each way, and
checks that nothing leaks.  It needs pytest and Debian's ``libzookeeper-java``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zuul_nodes.testing.conformance import DriverConformance
    from zuul_nodes.testing.faults import KINDS

__all__ = ['KINDS', 'DriverConformance']


def __getattr__(name: str) -> Any:
    # The launchers of the kit do not need these imports, nor pytest.
    if name not in __all__:
        raise AttributeError(f'module {__name__} has no attribute {name}')
    import pytest
    # Failed assertions show their values only after this call.
    pytest.register_assert_rewrite(
        'zuul_nodes.testing.configuration', 'zuul_nodes.testing.images',
        'zuul_nodes.testing.nodes')
    from zuul_nodes.testing.conformance import DriverConformance
    from zuul_nodes.testing.faults import KINDS
    globals().update(DriverConformance=DriverConformance, KINDS=KINDS)
    return globals()[name]
