"""The TLS side of the local cloud, for clients that take nothing else, such as those of a Kubernetes cluster.

Owns its certificate authority, one a home folder, and the certificate for loopback that it signs.
"""

from __future__ import annotations

import datetime as dt
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from infra.tools.files import write_whole

_YEARS = dt.timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Tls:
    """port: on loopback. authority: whose certificates a client is to trust, PEM."""

    port: int
    authority: str


def context(folder: Path) -> tuple[ssl.SSLContext, str]:
    """How a server in this home speaks TLS, and its authority (PEM); made on first use, the key for the owner alone."""
    folder.mkdir(parents=True, exist_ok=True)
    served, authority = folder / "tls.pem", folder / "authority.pem"
    if not (served.exists() and authority.exists()):
        served.unlink(missing_ok=True)  # Of the other authority that is missing.
        pem, signer = _made()
        write_whole(authority, signer, mode=0o600)
        write_whole(served, pem, mode=0o600)
    speaking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    speaking.load_cert_chain(served)
    return speaking, authority.read_text()


def _made() -> tuple[str, str]:
    """A key with its certificate for loopback, and the authority's, whose key is forgotten."""
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - clients check a certificate by this machine's clock
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tidepool local cloud")])
    signing, serving = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

    def begun(subject: x509.Name, key: ec.EllipticCurvePublicKey, signs: bool) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject).issuer_name(own).public_key(key).serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + _YEARS)
            .add_extension(x509.BasicConstraints(ca=signs, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
        )  # fmt: skip

    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    authority = begun(own, signing.public_key(), True).add_extension(usage, critical=True)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    served = begun(subject, serving.public_key(), False).add_extension(names, critical=False)
    key = serving.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    signed = served.sign(signing, hashes.SHA256()).public_bytes(pem)
    return (key + signed).decode(), authority.sign(signing, hashes.SHA256()).public_bytes(pem).decode()
