"""Signed tokens (JWT, RFC 7519, with RS256): made as Google's metadata server makes them, checked as GitHub checks an
app's. Owns their form and their keys' form. What the claims say, and when they hold, is their readers'.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from infra.local.cloud.errors import JsonObject

KEY_BITS = 2048


def new_key() -> str:
    """A fresh private RSA key, as PEM text (PKCS 1, as GitHub hands it out)."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return pem.decode()


def public_pem(private: str) -> str:
    """The public half of a private key in PEM."""
    key = _private(private).public_key()
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def public_jwk(private: str, kid: str) -> JsonObject:
    """The public half as a JSON Web Key (RFC 7517)."""
    numbers = _private(private).public_key().public_numbers()
    return {
        "kid": kid,
        "kty": "RSA",
        "alg": "RS256",
        "use": "sig",
        "n": _text(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")),
        "e": _text(numbers.e.to_bytes(3, "big")),
    }


def signed(private: str, claims: Mapping[str, object], *, kid: str | None = None) -> str:
    """The claims as a token. kid: which key signed, where it is said."""
    header = {"alg": "RS256", **({"kid": kid} if kid else {}), "typ": "JWT"}
    content = f"{_text(json.dumps(header).encode())}.{_text(json.dumps(claims).encode())}"
    signature = _private(private).sign(content.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{content}.{_text(signature)}"


def verified(token: str, public: Iterable[str]) -> JsonObject | None:
    """The claims of a token that one of these public keys (PEM) signed, else None."""
    content, _, signature = token.rpartition(".")
    header, _, claims = content.partition(".")
    try:
        if json.loads(_bytes(header)).get("alg") != "RS256":
            return None
        if not any(_fits(pem, content, _bytes(signature)) for pem in public):
            return None
        said = json.loads(_bytes(claims))
    except (ValueError, AttributeError, binascii.Error):
        return None
    return said if isinstance(said, dict) else None


def unverified(token: str) -> JsonObject:
    """The claims as they are written, to find whose key is to be tried; empty where there are none."""
    try:
        said = json.loads(_bytes(token.split(".")[1]))
    except (ValueError, IndexError, binascii.Error):
        return {}
    return said if isinstance(said, dict) else {}


def _fits(pem: str, content: str, signature: bytes) -> bool:
    key = serialization.load_pem_public_key(pem.encode())
    assert isinstance(key, rsa.RSAPublicKey)
    try:
        key.verify(signature, content.encode(), padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def _private(pem: str) -> rsa.RSAPrivateKey:
    # Our own key needs no proof that it is one, which would take longer than signing with it.
    key = serialization.load_pem_private_key(pem.encode(), password=None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
