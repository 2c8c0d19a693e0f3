"""Kubernetes on loopback, for tests.

::

    cluster = Emulator()                # HTTP, and state
    cluster = RealCluster(programs)     # what tools/kubernetes has built
    cluster.writeConfig(path)           # a kubeconfig
    cluster.kubelet.behaviour = Behaviour.HOLD      # until it is RUN
    cluster.end()

Both have :ivar:`host`, :ivar:`token` of an administrator, ``client``, an
``ApiClient`` of his, and a kubelet.  The emulator can besides fail on
demand, and be an OpenShift; see there.
"""

from tests.emulators.kubernetes.emulator import Emulator
from tests.emulators.kubernetes.kubelet import Behaviour, Kubelet
from tests.emulators.kubernetes.real import RealCluster

__all__ = ['Behaviour', 'Emulator', 'Kubelet', 'RealCluster']
