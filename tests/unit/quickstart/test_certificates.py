import datetime
import socket
import ssl
import stat
import threading

from cryptography import x509
import pytest

from zuul_nodes.quickstart import certificates
from zuul_nodes.quickstart.certificates import Certificates


def handshake(certs, client_context):
    """:return: what the client received from a server with our
        certificate, which wants one of the client's as well."""
    server_context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=certs.ca)
    server_context.load_cert_chain(certs.server_pem)
    server_context.verify_mode = ssl.CERT_REQUIRED
    # As Python does by itself since 3.13.
    server_context.verify_flags |= ssl.VERIFY_X509_STRICT
    with socket.create_server(('127.0.0.1', 0)) as listener:
        def serve():
            sock, _ = listener.accept()
            try:
                with server_context.wrap_socket(sock, True) as tls:
                    tls.sendall(b'welcome')
            except OSError:
                sock.close()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with socket.create_connection(listener.getsockname()) as sock, \
                    client_context.wrap_socket(
                        sock, server_hostname='127.0.0.1') as tls:
                return tls.recv(10)
        finally:
            thread.join()


def test_client_and_server_accept_each_other(tmp_path):
    certs = Certificates(tmp_path)
    context = ssl.create_default_context(cafile=certs.ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_cert_chain(certs.client_cert, certs.client_key)
    assert handshake(certs, context) == b'welcome'


def test_a_client_without_certificate_is_turned_away(tmp_path):
    certs = Certificates(tmp_path)
    context = ssl.create_default_context(cafile=certs.ca)
    with pytest.raises(OSError):
        handshake(certs, context)


def test_private_keys_are_private(tmp_path):
    certs = Certificates(tmp_path / 'new')
    for path in (certs.client_key, certs.server_pem):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_kept_from_run_to_run(tmp_path):
    first = Certificates(tmp_path).server_pem.read_bytes()
    assert Certificates(tmp_path).server_pem.read_bytes() == first


@pytest.mark.parametrize('name', ['ca', 'client_cert', 'client_key',
                                  'server_pem'])
def test_made_again_if_not_readable(tmp_path, name):
    certs = Certificates(tmp_path)
    path = getattr(certs, name)
    path.write_text('nonsense')
    Certificates(tmp_path)
    assert path.read_text().startswith('-----BEGIN')


def test_made_again_if_a_former_release_has_made_them(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(x509.CertificateBuilder, 'add_extension',
                      lambda builder, *args, **kwargs: builder)
        first = Certificates(tmp_path).ca.read_bytes()
    assert Certificates(tmp_path).ca.read_bytes() != first


def test_made_again_if_about_to_expire(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(certificates, 'VALIDITY', datetime.timedelta(days=3))
        first = Certificates(tmp_path).ca.read_bytes()
    assert Certificates(tmp_path).ca.read_bytes() != first
