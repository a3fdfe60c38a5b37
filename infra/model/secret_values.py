"""Secret property values: plain in memory, never written in clear."""

from __future__ import annotations

import json
from typing import Any, Protocol

MASK = "[secret]"


class Vault(Protocol):
    """What seals secrets and opens them."""

    def open(self, sealed: str, /) -> str: ...

    def seal(self, clear: str, /) -> str: ...


class Secret:
    """A value that is never written in clear. Holds a plain value that contains no further `Secret`.

    One that comes from a state stays sealed until someone looks, and keeps its ciphertext, so that an unchanged secret
    is unchanged in the state too.
    """

    __slots__ = ("_ciphertext", "_value", "_vault")

    def __init__(self, value: Any) -> None:
        self._value = reveal(value)
        self._ciphertext: str | None = None
        self._vault: Vault | None = None

    @classmethod
    def sealed(cls, ciphertext: str, vault: Vault) -> Secret:
        """The secret that a state holds under this vault."""
        secret = cls(_SEALED)
        secret._ciphertext, secret._vault = ciphertext, vault
        return secret

    @property
    def value(self) -> Any:
        """The clear value."""
        if self._value is _SEALED and self._vault is not None and self._ciphertext is not None:
            self._value = json.loads(self._vault.open(self._ciphertext))
        return self._value

    def sealed_by(self, vault: Vault) -> str:
        """Its ciphertext under this vault; the same every time."""
        if self._ciphertext is None or self._vault is not vault:
            self._ciphertext = vault.seal(json.dumps(self.value, separators=(",", ":"), ensure_ascii=False))
            self._vault = vault
        return self._ciphertext

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return False
        same_text = self._ciphertext is not None and self._ciphertext == other._ciphertext
        return same_text or self.value == other.value

    __hash__ = None

    def __repr__(self) -> str:
        return MASK


_SEALED = object()


def reveal(value: Any) -> Any:
    """The value with every `Secret` opened: for a provider, never for output."""
    if isinstance(value, Secret):
        return value.value
    if isinstance(value, dict):
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item) for item in value]
    return value
