"""Signed tokens (JWT, RFC 7519, with RS256): made as Google's metadata server makes them, checked as GitHub checks an
app's. Owns their keys' form. What the claims say, and when they hold, is their readers'.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from bench.cloud.errors import JsonObject

KEY_BITS = 2048
# When a claim holds is for its readers, and by the cloud's clock; tests sign what no library would.
_JWS = jwt.PyJWS(["RS256"])


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
    shown = RSAAlgorithm.to_jwk(_private(private).public_key(), as_dict=True)
    return {"kid": kid, "kty": "RSA", "alg": "RS256", "use": "sig", "n": shown["n"], "e": shown["e"]}


def signed(private: str, claims: Mapping[str, object], *, kid: str | None = None) -> str:
    """The claims as a token. kid: which key signed, where it is said."""
    return _JWS.encode(json.dumps(claims).encode(), _private(private), "RS256", {"kid": kid} if kid else None)


def verified(token: str, public: Iterable[str]) -> JsonObject | None:
    """The claims of a token that one of these public keys (PEM) signed, else None."""
    for pem in public:
        with suppress(jwt.PyJWTError, ValueError):
            said = json.loads(_JWS.decode(token, pem, ["RS256"]))
            return said if isinstance(said, dict) else None
    return None


def unverified(token: str) -> JsonObject:
    """The claims as they are written, to find whose key is to be tried; empty where there are none."""
    with suppress(jwt.PyJWTError, ValueError):
        said = json.loads(_JWS.decode(token, options={"verify_signature": False}))
        return said if isinstance(said, dict) else {}
    return {}


def _private(pem: str) -> rsa.RSAPrivateKey:
    # Our own key needs no proof that it is one, which would take longer than signing with it.
    key = serialization.load_pem_private_key(pem.encode(), password=None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key
