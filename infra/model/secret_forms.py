"""By what form a secret in clear is told, whatever it stands in, and the mask in its place.

Owns the forms. Where they are looked for is others': files (yamlfile), what is declared (`infra.rules.secrecy`), what
people are told (errors, `infra.preview.masking`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

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
}
_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)


@lru_cache(maxsize=4096)
def secrets_in(text: str) -> tuple[str, ...]:
    """What kinds of secret a text holds. Remembered, because all VMs of a fleet have one start-up script."""
    return tuple(what for what, form in FORMS.items() if form.search(text))


def without_secrets(text: str) -> str:
    """The text with the mask in the place of every secret, of a private key as a whole."""
    text = _KEY_BLOCK.sub(SECRET, text)
    for form in FORMS.values():
        text = form.sub(SECRET, text)
    return text
