"""Secrets in Pulumi's passphrase form.

Owns the key and the ciphertext: a key from PBKDF2-HMAC-SHA256 with 1,000,000 rounds, values under AES-256-GCM as
`v1:<nonce>:<ciphertext>`, and the state `v1:<salt>:<ciphertext of the word pulumi>` by which a wrong passphrase is
noticed. Source: sdk/go/common/resource/config/crypt.go and pkg/secrets/passphrase of pulumi/pulumi, read 2026-11-21.
Does not own where a passphrase comes from.
"""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode, b64encode
from contextlib import suppress
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


class Vault:
    """Encrypts and decrypts under one passphrase and salt.

    The key costs about half a second, so it is derived once and only when a secret is first met. `state` is what a
    checkpoint holds of it. met_secrets: something that it sealed was read.
    """

    def __init__(self, passphrase: Callable[[], str], state: str | None) -> None:
        self._passphrase = passphrase
        self._given = state
        self.met_secrets = False

    @cached_property
    def state(self) -> str:
        """`v1:<salt>:<verifier>`; made with a fresh salt where the stack has none yet."""
        if self._given is None:
            self._given = f"v1:{b64encode(self._salt).decode()}:{_seal(AESGCM(self._key()), _WORD)}"
        return self._given

    @cached_property
    def _salt(self) -> bytes:
        if self._given is None:
            return os.urandom(_SALT_BYTES)
        version, _, rest = self._given.partition(":")
        with suppress(ValueError):
            if version == "v1":
                return b64decode(rest.partition(":")[0], validate=True)
        raise EngineError(
            "the state's secrets provider is not in the passphrase form v1:<salt>:<verifier>: the embedded engine "
            "reads no other; use --engine pulumi"
        )

    @cached_property
    def _cipher(self) -> AESGCM:
        cipher = AESGCM(self._key())
        if _open(cipher, self.state.split(":", 2)[-1]) != _WORD:
            raise EngineError(
                "incorrect passphrase: set PULUMI_CONFIG_PASSPHRASE to the one that this state was made with"
            )
        return cipher

    def _key(self) -> bytes:
        text = self._passphrase().encode()
        known = (hashlib.sha256(text).hexdigest(), self._salt)
        if known not in _keys:
            _keys[known] = hashlib.pbkdf2_hmac("sha256", text, self._salt, ROUNDS, 32)
        return _keys[known]

    def check(self) -> None:
        """EngineError where secrets were met and the passphrase is not the one that the state was made with."""
        assert not self.met_secrets or self._cipher

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


def _seal(cipher: AESGCM, text: str) -> str:
    nonce = os.urandom(_NONCE_BYTES)
    return ":".join(("v1", *(b64encode(part).decode() for part in (nonce, cipher.encrypt(nonce, text.encode(), None)))))


def _open(cipher: AESGCM, ciphertext: str) -> str | None:
    try:
        _, nonce, sealed = ciphertext.split(":")
        return cipher.decrypt(b64decode(nonce), b64decode(sealed), None).decode()
    except (InvalidTag, ValueError):
        return None
