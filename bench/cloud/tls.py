"""The TLS side of the local cloud, for clients that take nothing else, such as those of a Kubernetes cluster.

Owns its certificate for loopback, one a home folder, which signs itself: clients trust it and no other.
"""

from __future__ import annotations

import datetime as dt
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from infra.tools.files import write_whole

_YEARS = dt.timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Tls:
    """port: on loopback. authority: the certificate that a client is to trust, PEM."""

    port: int
    authority: str


def context(folder: Path) -> tuple[ssl.SSLContext, str]:
    """How a server in this home speaks TLS, and what clients trust (PEM); made on first use, for the owner alone.

    In an older home that is an authority, which signed the certificate.
    """
    folder.mkdir(parents=True, exist_ok=True)
    served, authority = folder / "tls.pem", folder / "authority.pem"
    if not (served.exists() and authority.exists()):
        key, certificate = _made()
        write_whole(authority, certificate, mode=0o600)
        write_whole(served, key + certificate, mode=0o600)
    speaking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    speaking.load_cert_chain(served)
    return speaking, authority.read_text()


def _made() -> tuple[str, str]:
    """A key, and its certificate for loopback."""
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - clients check a certificate by this machine's clock
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tidepool local cloud")])
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + _YEARS)
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private.decode(), certificate.public_bytes(Encoding.PEM).decode()
