"""The form of a signed token (compact JWS, RFC 7515), read as strictly as it can be.

Owns parsing and the one algorithm that is taken, RS256. Says nothing of who signed: that is `identity`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from infra.fleet.broker.refusals import Reason, Refused

MAX_TOKEN: Final = 8192
"""Characters; Google's are about 1,200."""
_FORM: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A token as it is written, nothing of it believed. kid: the key that it says has signed it."""

    kid: str
    claims: Mapping[str, Any] = field(repr=False)
    content: bytes = field(repr=False)
    signature: bytes = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """What stands for this token: of what is signed, since a signature can be spelled in several ways."""
        return hashlib.sha256(self.content).hexdigest()

    def is_signed_by(self, key: rsa.RSAPublicKey) -> bool:
        try:
            key.verify(self.signature, self.content, padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return False
        return True


def parse(token: str) -> Signed:
    """Raises Refused for anything but three parts in base64url, two of them JSON objects, the first of RS256."""
    if len(token) > MAX_TOKEN or not _FORM.fullmatch(token):
        raise Refused(Reason.BAD_TOKEN)
    header, claims, signature = token.split(".")
    said = _object(header)
    # The one algorithm: `none`, and HMAC with a public key as its secret, are the known ways to forge a token.
    if said.get("alg") != "RS256" or not isinstance(said.get("kid"), str) or "crit" in said:
        raise Refused(Reason.BAD_TOKEN)
    return Signed(
        kid=said["kid"],
        claims=_object(claims),
        content=token.rpartition(".")[0].encode("ascii"),
        signature=_decoded(signature),
    )


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(_decoded(text))
    except (ValueError, RecursionError):
        raise Refused(Reason.BAD_TOKEN) from None
    if not isinstance(found, dict):
        raise Refused(Reason.BAD_TOKEN)
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Refused(Reason.BAD_TOKEN) from None
