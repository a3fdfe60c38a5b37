"""Secrets in Pulumi's passphrase form.

Owns the key and the ciphertext: a key from PBKDF2-HMAC-SHA256 with 1,000,000 rounds, values under AES-256-GCM as
`v1:<nonce>:<ciphertext>`, and the state `v1:<salt>:<ciphertext of the word pulumi>` by which a wrong passphrase is
noticed. Source: sdk/go/common/resource/config/crypt.go and pkg/secrets/passphrase of pulumi/pulumi, read 2026-11-21.
Does not own where a passphrase comes from.
"""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cached_property
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from infra.model.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 1_000_000
_WORD = "pulumi"
_NONCE_BYTES = 12
_SALT_BYTES = 8
_FIELDS = 3


class Vault:
    """Encrypts and decrypts under one passphrase and salt.

    The key costs about half a second, so it is derived once and only when a secret is first met. `state` is what a
    checkpoint holds of it.
    """

    def __init__(self, passphrase: Callable[[], str], state: str | None) -> None:
        self._passphrase = passphrase
        self._given = state

    @cached_property
    def state(self) -> str:
        """`v1:<salt>:<verifier>`; made with a fresh salt where the stack has none yet."""
        if self._given is not None:
            return self._given
        return f"v1:{_encode(self._salt)}:{_seal(self._cipher_for(self._salt), _WORD)}"

    @cached_property
    def _salt(self) -> bytes:
        if self._given is None:
            return os.urandom(_SALT_BYTES)
        parts = self._given.split(":", 2)
        salt = _decode(parts[1]) if len(parts) == _FIELDS and parts[0] == "v1" else None
        if salt is None:
            raise EngineError(
                "the state's secrets provider is not in the passphrase form v1:<salt>:<verifier>: the embedded engine "
                "reads no other; use --engine pulumi"
            )
        return salt

    @cached_property
    def _cipher(self) -> AESGCM:
        cipher = self._cipher_for(self._salt)
        if self._given is not None and _open(cipher, self._given.split(":", 2)[2]) != _WORD:
            raise EngineError(
                "incorrect passphrase: set PULUMI_CONFIG_PASSPHRASE to the one that this state was made with"
            )
        return cipher

    def _cipher_for(self, salt: bytes) -> AESGCM:
        return AESGCM(_key(self._passphrase(), salt))

    def check(self) -> None:
        """EngineError where the passphrase is not the one that the state was made with."""
        assert self._cipher

    def seal(self, text: str) -> str:
        """Ciphertext of a text, different every time."""
        return _seal(self._cipher, text)

    def open(self, ciphertext: str) -> str:
        """The text of a ciphertext."""
        text = _open(self._cipher, ciphertext)
        if text is None:
            raise EngineError("a secret in the state was not made with the state's own passphrase: restore a backup")
        return text


_keys: dict[tuple[str, bytes], bytes] = {}


def _key(passphrase: str, salt: bytes) -> bytes:
    known = (hashlib.sha256(passphrase.encode()).hexdigest(), salt)
    if known not in _keys:
        _keys[known] = hashlib.pbkdf2_hmac("sha256", passphrase.encode(), salt, ROUNDS, 32)
    return _keys[known]


def _seal(cipher: AESGCM, text: str) -> str:
    nonce = os.urandom(_NONCE_BYTES)
    return f"v1:{_encode(nonce)}:{_encode(cipher.encrypt(nonce, text.encode(), None))}"


def _open(cipher: AESGCM, ciphertext: str) -> str | None:
    parts = ciphertext.split(":")
    if len(parts) != _FIELDS or parts[0] != "v1":
        return None
    nonce, sealed = map(_decode, parts[1:])
    if nonce is None or sealed is None:
        return None
    try:
        return cipher.decrypt(nonce, sealed, None).decode()
    except (InvalidTag, ValueError):
        return None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode(text: str) -> bytes | None:
    """None where the text is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None
