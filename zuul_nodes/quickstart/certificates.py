"""The TLS certificates of ZooKeeper and its clients.

Zuul connects to ZooKeeper over TLS, with a certificate on both sides.  The
certificates are kept from run to run.  They are renewed when they are about to
expire or cannot be read.
"""

import datetime
import ipaddress
import os
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

VALIDITY = datetime.timedelta(days=3650)
RENEW_BEFORE = datetime.timedelta(days=30)
# The authority signs certificates, and nothing else.
CA_USAGE = x509.KeyUsage(
    key_cert_sign=True, digital_signature=False, content_commitment=False,
    key_encipherment=False, data_encipherment=False, key_agreement=False,
    crl_sign=False, encipher_only=False, decipher_only=False)


class Certificates:
    """A certificate authority, a server and a client.

    :param directory: the directory of the files.
    :ivar pathlib.Path ca: the authority's certificate.
    :ivar pathlib.Path client_cert: the client's certificate.
    :ivar pathlib.Path client_key: the client's private key.
    :ivar pathlib.Path server_pem: the server's certificate and key in one
        file, as ZooKeeper requires.
    """

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.ca = self.directory / 'ca.pem'
        self.client_cert = self.directory / 'client.pem'
        self.client_key = self.directory / 'client.key'
        self.server_pem = self.directory / 'server.pem'
        if not self._usable():
            self._create()

    def _usable(self):
        soon = datetime.datetime.now(datetime.UTC) + RENEW_BEFORE
        try:
            ca = x509.load_pem_x509_certificate(self.ca.read_bytes())
            for cert_file, key_file in (
                    (self.client_cert, self.client_key),
                    (self.server_pem, self.server_pem)):
                cert = x509.load_pem_x509_certificate(cert_file.read_bytes())
                cert.verify_directly_issued_by(ca)
                # Those of former releases have none.
                cert.extensions.get_extension_for_class(
                    x509.AuthorityKeyIdentifier)
                key = serialization.load_pem_private_key(
                    key_file.read_bytes(), None)
                if (cert.not_valid_after_utc < soon
                        or key.public_key() != cert.public_key()):
                    return False
        except Exception:
            # Replace the files, whatever is wrong with them.
            return False
        return True

    def _create(self):
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        ca_key = _newKey()
        ca_name = _name('zuul-nodes quickstart CA')
        # Since 3.13, Python insists on all that RFC 5280 asks for.
        key_id = x509.SubjectKeyIdentifier.from_public_key(
            ca_key.public_key())
        ca_cert = _builder(ca_name, ca_name, ca_key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True,
        ).add_extension(CA_USAGE, critical=True).add_extension(
            key_id, critical=False).sign(ca_key, hashes.SHA256())

        def issue(common_name):
            key = _newKey()
            names = x509.SubjectAlternativeName([
                x509.IPAddress(ipaddress.ip_address('127.0.0.1')),
                x509.DNSName('localhost')])
            cert = _builder(_name(common_name), ca_name, key).add_extension(
                names, critical=False).add_extension(
                    x509.AuthorityKeyIdentifier
                    .from_issuer_subject_key_identifier(key_id),
                    critical=False).sign(ca_key, hashes.SHA256())
            return _certPem(cert), _keyPem(key)

        client_cert, client_key = issue('client')
        server_cert, server_key = issue('localhost')
        # The authority's key is only needed here, so it is not stored.
        for path, content in ((self.ca, _certPem(ca_cert)),
                              (self.client_cert, client_cert),
                              (self.client_key, client_key),
                              (self.server_pem, server_cert + server_key)):
            writePrivate(path, content)


def writePrivate(path, content):
    """Write bytes to a new file that only its owner can read."""
    pathlib.Path(path).unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, 'wb') as private:
        private.write(content)


def _newKey():
    # ZooKeeper signs each handshake, and Java is slow at RSA.
    return ec.generate_private_key(ec.SECP256R1())


def _name(common_name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject, issuer, key):
    now = datetime.datetime.now(datetime.UTC)
    return (x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            # Tolerate a clock that is set back a little.
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + VALIDITY))


def _certPem(cert):
    return cert.public_bytes(serialization.Encoding.PEM)


def _keyPem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption())
