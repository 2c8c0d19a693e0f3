"""A real API server, with its etcd and the controllers of what nodes use."""

import contextlib
import pathlib
import secrets
import shutil
import subprocess
import tempfile
import time

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from kubernetes.client import ApiException, CoreV1Api
import urllib3

from tests.emulators.kubernetes.access import Access
from tests.emulators.kubernetes.kubelet import Kubelet
from zuul_nodes.quickstart.ports import freePorts

# Without those that look after machines, which would miss kubelets.
CONTROLLERS = ('namespace', 'serviceaccount', 'serviceaccount-token',
               'resourcequota', 'garbagecollector')
PATIENCE = 180


class RealCluster(Access):
    """
    :param Path programs: where ``tools/kubernetes`` has put them.
    """

    def __init__(self, programs):
        self._programs = pathlib.Path(programs)
        self._directory = pathlib.Path(tempfile.mkdtemp(prefix='kubernetes-'))
        self._processes = []
        try:
            self._start()
        except BaseException:
            self.end()
            raise

    def _start(self):
        etcd, peer, api, manager = freePorts(4)
        self.host = f'https://127.0.0.1:{api}'
        self.token = secrets.token_hex()
        # The server makes it for itself.
        self.certificate = self._directory / 'apiserver.crt'
        key = self._writeKey()
        tokens = self._write(
            'tokens.csv', f'{self.token},admin,admin,system:masters\n')
        store = f'http://127.0.0.1:{etcd}'
        self._run('etcd', f'--data-dir={self._directory / "etcd"}',
                  f'--listen-client-urls={store}',
                  f'--advertise-client-urls={store}',
                  f'--listen-peer-urls=http://127.0.0.1:{peer}')
        self._run('kube-apiserver', f'--etcd-servers={store}',
                  '--bind-address=127.0.0.1', f'--secure-port={api}',
                  f'--cert-dir={self._directory}',
                  '--endpoint-reconciler-type=none',
                  '--service-cluster-ip-range=10.0.0.0/24',
                  '--authorization-mode=RBAC', f'--token-auth-file={tokens}',
                  f'--service-account-issuer={self.host}',
                  f'--service-account-key-file={key}',
                  f'--service-account-signing-key-file={key}')
        self.client = self.makeClient()
        core = CoreV1Api(self.client)
        self._waitFor(lambda: core.read_namespace('default'))
        kubeconfig = self.writeConfig(self._directory / 'kubeconfig')
        self._run('kube-controller-manager', f'--kubeconfig={kubeconfig}',
                  '--bind-address=127.0.0.1', f'--secure-port={manager}',
                  '--port=0', f'--cert-dir={self._directory}',
                  '--leader-elect=false',
                  f'--controllers={",".join(CONTROLLERS)}',
                  f'--root-ca-file={self.certificate}',
                  f'--service-account-private-key-file={key}')
        # Pods are refused as long as the namespace has no account.
        self._waitFor(lambda: core.read_namespaced_service_account(
            'default', 'default').secrets)
        self.kubelet = Kubelet(self.client)

    def end(self):
        # The API server last but one, whose end the kubelet waits for.
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        if hasattr(self, 'kubelet'):
            self.kubelet.end()
        shutil.rmtree(self._directory)

    def _run(self, name, *args):
        with (self._directory / f'{name}.log').open('wb') as log:
            self._processes.append(subprocess.Popen(
                [self._programs / name, *args], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, cwd=self._directory))

    def _waitFor(self, predicate):
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(
                    ApiException, urllib3.exceptions.HTTPError, OSError):
                if predicate():
                    return
            for process in self._processes:
                if process.poll() is not None:
                    self._fail(f'{process.args[0].name} has ended', process)
            if time.monotonic() > end:
                self._fail(f'{self.host} is not ready', self._processes[-1])
            time.sleep(0.05)

    def _fail(self, what, process):
        log = self._directory / f'{process.args[0].name}.log'
        raise RuntimeError(f'{what}: {log.read_text()[-2000:]}')

    def _writeKey(self):
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return self._write('account.key', key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption()).decode())

    def _write(self, name, text):
        path = self._directory / name
        path.touch(0o600)
        path.write_text(text)
        return path
