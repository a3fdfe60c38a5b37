"""What a comment must not repeat: secrets in clear and e-mail addresses.

Owns the masks. By what form a secret is told is `infra.model.secret_values`; values that Pulumi itself keeps
as secrets arrive masked already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from infra.model.secret_values import SECRET, without_secrets
from infra.rules.secrecy import TELLING_NAME

EMAIL: Final = "[e-mail]"

_ADDRESS: Final = re.compile(r"(?<![\w.%+'-])([\w.%+'-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})")
_SERVICE_ACCOUNTS: Final = ".gserviceaccount.com"
_PROJECT_NUMBER: Final = re.compile(r"\d{6,}")
_LAST_NAME: Final = re.compile(r"""([^.\[\]"]+)["\]\d\[]*$""")


def masked(text: str) -> str:
    """The text without secrets in clear and without addresses: a person's is `[e-mail]`, a service account's
    `runner@…`, with neither its project nor a project's number."""
    return _ADDRESS.sub(_short, without_secrets(text))


def masked_value(value: Any, name: str = "") -> Any:
    """The value with every text in it masked; `name` is the property's path, whose last part may tell a secret."""
    if isinstance(value, Mapping):
        return {masked(str(key)): masked_value(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(item) for item in value]
    if isinstance(value, str):
        return SECRET if _tells_a_secret(name) else masked(value)
    return value


def _tells_a_secret(path: str) -> bool:
    last = _LAST_NAME.search(path)
    return bool(last and TELLING_NAME.fullmatch(last[1]))


def _short(found: re.Match[str]) -> str:
    name, domain = found.groups()
    if domain.endswith(_SERVICE_ACCOUNTS):
        return f"{_PROJECT_NUMBER.sub('…', name)}@…"
    return EMAIL
