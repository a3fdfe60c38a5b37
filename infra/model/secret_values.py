"""Secret property values, plain in memory and never written in clear, how Pulumi marks them, and forms of secrets.

Source of the marks: sdk/go/common/resource/plugin/rpc.go of pulumi/pulumi, read 2026-11-21.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final, Protocol

MASK = "[secret]"
UNKNOWN_MASK = "[unknown]"
"""What people see in place of a secret, and of a value that is known only after an apply."""

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - marks a secret, is none
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
UNKNOWN_TEXTS = frozenset(
    {
        UNKNOWN_TEXT,  # any value; the SDK for Python sends this one alone
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)


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


SECRET: Final = "[secret]"  # noqa: S105 - the mask, not a secret

FORMS: Final = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}"),
    "a Google API key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    "a Google access token": re.compile(r"\bya29\.[0-9A-Za-z_-]{20,}"),
    "an OAuth client secret": re.compile(r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    "a Slack token": re.compile(r"\bxox[abeprs]-[0-9A-Za-z-]{10,}"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an API key of a model's vendor": re.compile(r"\bsk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    "a signed token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"),
    "a password in an address": re.compile(r"://[^\s/:@$]+:[^\s/:@${}<>]+@(?!sha256:)"),
    "an npm token": re.compile(r"\bnpm_[A-Za-z0-9]{36}"),
    "a Docker token": re.compile(r"\bdckr_[po]at_[A-Za-z0-9_-]{27,}"),
    "a DigitalOcean token": re.compile(r"\bdo[opr]_v1_[a-f0-9]{64}"),
}
_DETECTORS: Final = {
    "a GitLab token": (
        "gitlab_token.GitLabTokenDetector",
        re.compile(r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941"),
    ),
    "an npm token": ("npm.NpmDetector", re.compile("_authToken=")),
    "a PyPI token": ("pypi_token.PypiTokenDetector", re.compile("pypi-AgE")),
    "a Slack webhook": ("slack.SlackDetector", re.compile(r"(?i)hooks\.slack\.com/")),
    "a Stripe key": ("stripe.StripeDetector", re.compile("[rs]k_live_")),
    "a SendGrid key": ("sendgrid.SendGridDetector", re.compile(r"SG\.")),
}
"""Detectors of detect-secrets, each with a mark that every secret of its kind has."""
_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)


@lru_cache(maxsize=4096)
def secrets_in(text: str) -> tuple[str, ...]:
    """What kinds of secret a text holds. Remembered, because all VMs of a fleet have one start-up script."""
    return tuple(dict.fromkeys(what for what, form in _forms(text) if form.search(text)))


def without_secrets(text: str) -> str:
    """The text with the mask in the place of every secret, of a private key as a whole."""
    text = _KEY_BLOCK.sub(SECRET, text)
    for _, form in _forms(text):
        text = form.sub(SECRET, text)
    return text


def _forms(text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The forms that a text may have. Importing detect-secrets takes 0.2 s, so a text without a mark does not."""
    yield from FORMS.items()
    for what, (detector, mark) in _DETECTORS.items():
        if mark.search(text):
            yield from ((what, form) for form in _denylist(detector))


@cache
def _denylist(detector: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of a detector; none in the fleet service, which has no detect-secrets and reads no stack file."""
    module, _, name = detector.partition(".")
    try:
        found = import_module(f"detect_secrets.plugins.{module}")
    except ModuleNotFoundError:
        return ()
    return tuple(getattr(found, name).denylist)
